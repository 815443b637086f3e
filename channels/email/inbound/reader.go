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

// Judge says what a mail is. It asks the finder only what the mail gives reason
// to ask, and writes nothing.
func (r *Reader) Judge(ctx context.Context, m *Mail, env Envelope, f Finder) (*Verdict, error) {
	return &Verdict{Kind: Unmatched}, nil
}

// Mail is a mail taken apart.
type Mail struct{ raw []byte }

// MaxMail bounds a mail, in bytes. Of a longer one only the headers and the
// beginning count.
const MaxMail = 25 << 20

// Parse takes a mail apart. It takes anything for a mail: what is damaged is read
// as far as it goes.
func Parse(raw []byte) *Mail { return &Mail{raw: raw} }
