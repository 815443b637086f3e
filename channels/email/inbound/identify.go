package inbound

import (
	"context"
	"fmt"
	"strings"

	"beckon/channels/email/authres"
)

// identity is what came of proving the sender.
type identity struct {
	kind Kind // "" when it is the person
	why  string
}

// identify proves that the person whom a question was asked wrote the mail. It
// notes in the evidence what it knows.
func (j *judgement) identify(ctx context.Context, match Match) identity {
	from, why := j.mail.header.author()
	ev := &j.verdict.Evidence
	ev.From, ev.Sender = from, j.mail.header.onBehalf(from)
	switch {
	case from == "":
		return identity{RejectedAuth, why}
	case !match.Question.has(from) && match.Via == ViaSubject:
		return identity{RejectedAuth, "only the subject names the question, and From is somebody else"}
	case !match.Question.has(from):
		return identity{IdentityMismatch, "From is not an address of the person who was asked"}
	}
	auth := j.authenticate(ctx, from)
	if id := j.weigh(match.Via, &auth); id.kind != "" {
		return id
	}
	if ev.Sender != "" {
		if j.policy() == Strict {
			return identity{AnswerSuspect, "sent on behalf of From by somebody else, and the policy is strict"}
		}
		j.because("sent on behalf of From by " + ev.Sender)
	}
	return identity{}
}

// weigh says whether what is known of the sender is enough for the policy, given
// how the mail names the question.
func (j *judgement) weigh(via Via, auth *authres.Verdict) identity {
	token := via == ViaToken
	switch {
	case token && j.policy() == Token:
		return j.proved("the token and From match")
	case auth.Damaged && token:
		return identity{AnswerSuspect, "our server's Authentication-Results is damaged, as if somebody had meddled"}
	case auth.Damaged:
		return identity{RejectedAuth, "our server's Authentication-Results is damaged, and there is no token"}
	case !token && !auth.Proved():
		return identity{RejectedAuth, "no token, and neither DMARC nor aligned DKIM passed"}
	case !token && auth.DMARC == authres.Fail:
		return identity{RejectedAuth, "no token, and DMARC failed"}
	case !token && j.policy() == Strict:
		return identity{AnswerSuspect, "no token, and the policy is strict"}
	case !token:
		return j.proved("From matches and is proved by " + proof(auth))
	}
	if j.policy() == Strict {
		if !auth.Proved() || auth.DMARC == authres.Fail {
			return j.unproved("the token and From match, but neither DMARC nor aligned DKIM passed, and the policy is strict", auth)
		}
		return j.proved("the token and From match; proved by " + proof(auth))
	}
	if auth.DMARC == authres.Fail {
		return j.unproved("the token and From match, but DMARC failed", auth)
	}
	return j.proved("the token and From match; DMARC " + string(auth.DMARC) + ", DKIM " + string(auth.DKIM))
}

func (j *judgement) proved(why string) identity {
	j.because(why)
	return identity{}
}

// unproved holds a mail that may be the person's, since something on its way can
// explain why it does not prove that, and refuses one that nothing explains.
func (j *judgement) unproved(why string, auth *authres.Verdict) identity {
	if auth.DMARC != authres.Fail {
		return identity{AnswerSuspect, why}
	}
	if trace := j.mail.forwarded(auth, j.mail.envelopeFrom(j.envelope)); trace != "" {
		return identity{AnswerSuspect, why + "; it may have been forwarded: " + trace}
	}
	return identity{RejectedAuth, why}
}

// forwarded says which trace there is of a forwarder or list, which break SPF by
// their own address and DKIM by a footer.
func (m *Mail) forwarded(auth *authres.Verdict, envelopeFrom string) string {
	if auth.DKIM == authres.Pass {
		return "a signature of From's organization passed"
	}
	if auth.DKIM == authres.Fail || auth.DKIM == authres.PermError || auth.DKIM == authres.TempError {
		return "it has a signature that broke"
	}
	for _, name := range []string{"x-forwarded-to", "x-forwarded-for", "x-forwarded-by", "resent-from", "resent-to", "resent-sender", "arc-seal", "list-id", "list-post", "mailing-list"} {
		if m.header.has(name) {
			return name + " is there"
		}
	}
	if local, _ := splitAddress(asciiLower(envelopeFrom)); strings.HasPrefix(local, "srs0") || strings.HasPrefix(local, "srs1") {
		return "its envelope address was rewritten (SRS)"
	}
	return ""
}

// authenticate finds out what the From domain says about the mail: from our
// server's header, and from DKIM where that has nothing.
func (j *judgement) authenticate(ctx context.Context, from string) authres.Verdict {
	_, domain := splitAddress(from)
	auth := authres.Trusted(j.mail.rawValues("authentication-results"), j.reader.AuthservID, j.reader.Unnamed, domain)
	if auth.DMARC == authres.None && auth.DKIM == authres.None && !auth.Damaged && j.reader.LookupTXT != nil {
		own := authres.CheckDKIM(ctx, j.mail.raw, domain, j.reader.LookupTXT)
		auth.DKIM, auth.DKIMDomain = own.DKIM, own.DKIMDomain
		if auth.By == "" {
			auth.By = own.By
		}
		j.verdict.Again = own.DKIM == authres.TempError
	}
	ev := &j.verdict.Evidence
	ev.AuthServ, ev.DKIMDomain = auth.By, auth.DKIMDomain
	ev.DMARC, ev.DKIM, ev.SPF = string(auth.DMARC), string(auth.DKIM), string(auth.SPF)
	if auth.By == "" {
		ev.DMARC, ev.DKIM, ev.SPF = "", "", ""
	}
	return auth
}

// rawValues returns the values of a field as they stand, for those who know its
// grammar.
func (m *Mail) rawValues(name string) []string {
	var out []string
	for _, f := range m.header {
		if f.name == name {
			out = append(out, f.value)
		}
	}
	return out
}

func proof(auth *authres.Verdict) string {
	if auth.DMARC == authres.Pass {
		return fmt.Sprintf("DMARC (%s)", auth.By)
	}
	return fmt.Sprintf("DKIM of %s (%s)", auth.DKIMDomain, auth.By)
}
