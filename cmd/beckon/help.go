package main

// What the help of a command says besides its flags. Lines that are indented are
// shown as they are.

func (*askCmd) Help() string {
	return `Without --wait it prints the message id and ends; "beckon wait ID" gets the answer. With --wait the value is printed alone on standard output; how it ended is the exit code: 0 answered, 3 declined, 4 expired (the value is printed if --default was applied), 5 cancelled, 6 still open. Ctrl-C leaves the ask open.

Examples:

    beckon ask "Ship 2.3?" --option ship="Ship now" --option hold=Hold --wait 10m --default hold
    beckon ask "Delete the old cluster?" --confirm --body @plan.md --priority high --wait 1h
    beckon ask "Why?" --field reason:string! --field 'severity:low|high' --wait 1h --json
    git diff | beckon ask "Merge this?" --confirm --body - --expires 2d
    beckon ask --file envelope.json --wait 10m`
}

func (*notifyCmd) Help() string {
	return `Examples:

    beckon notify "Release 2.3 is out" --body @CHANGES.md --tag release
    make 2>&1 | tail -n 20 | beckon notify "The build broke" --body - --priority high`
}

func (*taskCmd) Help() string {
	return `With --wait it ends when somebody says that it is done (0) or can't be done (3).

Examples:

    beckon task "Rotate the key" --instructions @todo.md --step "Make a key" --step "Store it" --wait 8h
    beckon task "Call the customer" --instructions "They wait since noon." --expires 4h`
}

func (*waitCmd) Help() string {
	return `It goes on through restarts of the hub, and prints and ends as "beckon ask --wait" does.

Examples:

    id=$(beckon ask "Ship 2.3?" --confirm)
    beckon wait "$id" --wait 1h`
}

func (*cancelCmd) Help() string {
	return `An agent takes back its own ask, an operator any. Whoever waits for it gets exit code 5, and people see that it was taken back.

Examples:

    beckon cancel msg_01J…`
}

func (*ackCmd) Help() string {
	return `People see that the agent has the answer, and the note. The first ack of a message counts. What was taken by "beckon inbox" does not come again.

Examples:

    beckon ack msg_01J… --note "Rolling back now."
    beckon ack dir_01J… dir_01K…`
}

func (*inboxCmd) Help() string {
	return `Each is a line of id, author, time and title, with tabs between them. With --null it goes on with the body and ends with a NUL byte instead. Before anything is printed, signature, addressee and age are checked: with the secret that the hub shares with the agent, in BECKON_SECRET or --secret-file, or with the keys that the hub publishes, if it signs with those. What fails is not printed, and the exit code is 1.

Without --ack they come again after a minute or so, until "beckon ack" names them. When nothing comes in the time of --wait, the exit code is 6.

Examples:

    beckon inbox
    beckon inbox --wait 1h --max 1 --ack --json | jq -r .title
    beckon inbox --null --wait 10m | while IFS=$'\t' read -r -d '' id author time title body; do echo "$title" && beckon ack "$id" --note Done.; done`
}

func (*messagesCmd) Help() string {
	return `An agent's credential shows that agent's messages, an operator's those of all. On a terminal it is a table; elsewhere each message is a line with tabs and no head. "beckon messages list --help" shows the filters.

Examples:

    beckon messages --status open
    beckon messages --type ask --json | jq -r '.messages[].title'
    beckon messages show msg_01J…`
}

func (*showMessageCmd) Help() string {
	return `Examples:

    beckon messages show msg_01J…
    beckon messages show msg_01J… --json`
}

func (*deliveriesCmd) Help() string {
	return `A delivery is one thing to get done: post a copy, change one, let a message expire. One that failed for good is dead, and stays until somebody has it tried again. These commands take an operator's credential. "beckon deliveries list --help" shows the filters.

Examples:

    beckon deliveries --state dead
    beckon deliveries retry msg_01J… 0
    beckon deliveries post msg_01J…`
}

func (*retryDeliveryCmd) Help() string {
	return `Examples:

    beckon deliveries retry msg_01J… 0`
}

func (*postDeliveriesCmd) Help() string {
	return `It posts to every target of the message where no copy stands.

Examples:

    beckon deliveries post msg_01J…
    beckon deliveries post msg_01J… --all`
}

func (*eventsCmd) Help() string {
	return `It takes an operator's credential. Each event is chained to the one before by a hash; the exit code is 1 if the chain does not hold.

Examples:

    beckon events msg_01J…
    beckon events msg_01J… --json | jq -r '.events[].kind'`
}

func (*statsCmd) Help() string {
	return `It takes an operator's credential.

Examples:

    beckon stats
    beckon stats --json | jq .open`
}

func (*previewCmd) Help() string {
	return `Nothing is sent, and no hub is needed.

Examples:

    beckon preview --channel slack envelope.json`
}

func (*backupCmd) Help() string {
	return `The hub may run meanwhile: the copy is the state of one moment. It is made for its owner only, read through, and never written over a file. To restore, stop the hub, put the copy where the database was, remove the files beside it whose names end in -wal and -shm, and start the hub.

The hub's key is not in the copy. Keep it apart: whoever has both can sign in as anybody.

Examples:

    beckon backup --config /etc/beckon/beckon.yaml /backup/beckon-$(date +%F).db
    beckon backup --store /var/lib/beckon/beckon.db /backup/beckon.db`
}

func (*completionCmd) Help() string {
	return `Examples:

    source <(beckon completion bash)
    beckon completion zsh > "${fpath[1]}/_beckon"
    beckon completion fish > ~/.config/fish/completions/beckon.fish`
}

func (*serveCmd) Help() string {
	return `SIGHUP reads the config again; one that is wrong leaves the old one in force. SIGINT and SIGTERM stop the hub cleanly, a second one at once.

Examples:

    beckon serve
    beckon serve --config /etc/beckon/beckon.yaml --log-format json`
}

func (*demoCmd) Help() string {
	return `It starts a hub, prints a link that signs you in, and plays an agent that asks you things.

Examples:

    beckon demo
    beckon demo --email
    beckon demo --keep ~/beckon-demo`
}

func (*linkCmd) Help() string {
	return `Whoever has the link is that person, so hand it over in private. It needs the config and the key, and no running hub.

Examples:

    beckon link alice
    beckon link alice --message msg_01J… --ttl 2h`
}

func (*tokenCmd) Help() string {
	return `The hub keeps the hash only. To replace a credential, list both hashes in the config, send the hub a SIGHUP, give out the new token, and take the old hash away.

Examples:

    beckon token
    beckon token --json | jq -r .token_sha256`
}

func (*versionCmd) Help() string {
	return `Examples:

    beckon version
    beckon version --json`
}

func (*configCmd) Help() string {
	return `Examples:

    beckon config
    beckon config routes.match`
}

func (*checkCmd) Help() string {
	return `It changes nothing, and a hub may run meanwhile. The exit code is 2 when something has to be mended, and 7 when the hub would refuse the message.

Examples:

    beckon check --config /etc/beckon/beckon.yaml
    beckon check --live
    beckon check --message envelope.json --json`
}

func (*initCmd) Help() string {
	return `It never writes over a file.

Examples:

    beckon init
    beckon init /etc/beckon --person alice --name "Alice Ng" --agent deploybot/dev-team`
}

func (*slackManifestCmd) Help() string {
	return `The manifest asks for what the hub uses and no more. Without --request-url the app uses Socket Mode, which needs no public address.

Examples:

    beckon slack manifest > manifest.json
    beckon slack manifest --request-url https://beckon.example.com/slack/events`
}

func (*mailExplainCmd) Help() string {
	return `It prints a JSON object a line: file, kind, who (the person's address), choice (the option that the text names), text (what the person wrote) and reasons. Only the kind answer with a choice would be recorded. Mails are judged in order, so that one that comes again is a duplicate. Nothing is sent and nobody is asked; DNS neither.

The context is what was asked of one person:

    {"question": "q-101", "text": "Deploy?\n\n1. Approve\n2. Reject", "options": ["Approve", "Reject"],
     "recipient": "alice@example.com", "reply_to": "hub+qk7m2x4c9v1p8s3tdz5w@example.com",
     "message_id": "<q-101.r-alice.1@example.com>", "authserv_id": "mx.example.com", "policy": "normal"}

Further keys: verp, the envelope address that bounces go to, and late, the Message-IDs of mails that came after the answer. An object that has all this under the key context will do.

Examples:

    beckon mail explain --context question.json reply.eml
    beckon mail explain --context question.json inbox/*.eml | jq -r 'select(.kind != "answer") | .file, .reasons[]'`
}

func (*mailExtractCmd) Help() string {
	return `It reads the body, without its header and already decoded, on standard input, and leaves out the quoted mail, signatures and what clients and servers put around.

Examples:

    cat body.txt | beckon mail extract
    cat body.html | beckon mail extract --html`
}
