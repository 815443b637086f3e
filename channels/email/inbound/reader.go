package inbound

import "context"

// Policy says how sure we must be of a sender.
type Policy string

// The policies of a mailbox.
const (
	// Strict: the token, From, and DMARC or aligned DKIM passed.
	Strict Policy = "strict"
	// Normal: the token and From, and DMARC did not fail. The default.
	Normal Policy = "normal"
	// Token: the token and From.
	Token Policy = "token"
)

// Reader judges the mail of one mailbox. It is safe for concurrent use.
type Reader struct {
	// Addresses are ours. Their plus addresses are ours too.
	Addresses []string
	// Instance is what our mails say in [InstanceHeader].
	Instance string
	Policy   Policy // "" is Normal
	// AuthservID is the name under which our own server checks senders
	// (RFC 8601). "" trusts no such header.
	AuthservID string
	// Unnamed trusts the topmost Authentication-Results although it names no
	// server, as Microsoft 365 writes it.
	Unnamed bool
	// LookupTXT checks DKIM signatures ourselves where the server says nothing.
	// Nil: they count for nothing then.
	LookupTXT func(ctx context.Context, name string) ([]string, error)
}

// InstanceHeader marks every mail of ours with the hub that sent it.
const InstanceHeader = "X-Hub-Instance"
