#!/bin/sh
# An agent in shell: asks people to choose, waits, and prints what they chose.
# It needs curl and jq, and these variables:
#
#   BECKON_URL    the hub, such as https://beckon.example.com
#   BECKON_TOKEN  the agent's credential
#   BECKON_AGENT  the agent.id that the credential belongs to
#
# Usage: ask.sh TITLE VALUE LABEL [VALUE LABEL ...]
# Ends with 0 and the value when it was answered, with 3 otherwise.
set -eu

title=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The token goes by a file, since others can read a command line.
printf 'header = "Authorization: Bearer %s"\n' "$BECKON_TOKEN" >"$tmp/auth"

# The envelope is written once: sent again after a cut, byte by byte the same,
# it is the same message, and nobody is asked twice.
jq -n --arg title "$title" --arg agent "$BECKON_AGENT" --arg key "ask-sh-$(date +%s)-$$" \
	--arg now "$(date -u +%Y-%m-%dT%H:%M:%SZ)" '{
		ma2h_version: "0.5", type: "ask", created_at: $now, idempotency_key: $key, title: $title,
		agent: {id: $agent, run_id: $key, runtime: "cli"},
		request: {mode: "select", options: [$ARGS.positional as $p | range(0; $p | length; 2) | {value: $p[.], label: $p[. + 1]}]}
	}' --args "$@" >"$tmp/envelope"

curl -sS --fail-with-body --retry 5 --retry-connrefused -K "$tmp/auth" --json "@$tmp/envelope" \
	-o "$tmp/ack" "$BECKON_URL/v1/messages" || { cat "$tmp/ack" >&2; exit 1; }
poll=$(jq -r .poll_url "$tmp/ack")
echo "asked: $(jq -r .review_url "$tmp/ack")" >&2

# A poll is held for up to a minute; the next one goes on where it ended.
status=open
while [ "$status" = open ]; do
	curl -sS --fail --retry 20 --retry-connrefused -K "$tmp/auth" -o "$tmp/message" "$poll?wait=60"
	status=$(jq -r .status "$tmp/message")
done

echo "$status by $(jq -r .response.response.actor "$tmp/message")" >&2
[ "$status" = answered ] || exit 3
jq -r .response.response.value "$tmp/message"
