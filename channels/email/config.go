package email

import (
	"time"

	"beckon/hub"
)

// section is the channel's part of the config.
type section struct {
	From     string `yaml:"from" json:"from" doc:"The address that the hub's mail comes from, and that people answer to." eg:"hub@example.com"`
	FromName string `yaml:"from_name" json:"from_name" doc:"The name that stands beside it, after the agent's." eg:"Beckon"`

	SMTP   smtpSection    `yaml:"smtp" json:"smtp" doc:"The server that takes the hub's mail."`
	IMAP   *imapSection   `yaml:"imap" json:"imap" doc:"The mailbox that answers arrive in."`
	Listen *listenSection `yaml:"listen" json:"listen" doc:"In the place of imap: the mail server of the site hands answers to the hub itself." off:"true"`
	OAuth  *oauthSection  `yaml:"oauth" json:"oauth" doc:"Access tokens in the place of the passwords of smtp and imap, for Microsoft 365 and Gmail." off:"true"`

	Policy       string              `yaml:"policy" json:"policy" doc:"How sure the hub must be of who wrote. strict: the token, the person's address, and DMARC or DKIM of their domain passed. normal: the token and the address, and DMARC did not fail. token: the token and the address." eg:"normal"`
	AuthservID   string              `yaml:"authserv_id" json:"authserv_id" doc:"The name by which your mail server signs Authentication-Results, which it must take off mail from outside. Left out, the hub checks DKIM itself." eg:"mx.example.com"`
	AuthservNone bool                `yaml:"authserv_none" json:"authserv_none" doc:"In the place of authserv_id: the topmost Authentication-Results counts although it names no server, as Microsoft 365 writes it." eg:"true" off:"true"`
	Aliases      map[string][]string `yaml:"aliases" json:"aliases" doc:"Further addresses that people write from, besides their email in people." eg:"{alice: [a.ng@example.org]}"`

	Plus       string       `yaml:"plus" json:"plus" doc:"What stands between the hub's name and a token in hub+token@example.com, or off for a mailbox that gets no mail for such addresses. Answers are then known by the mail that they answer, which some mail programs do not say." eg:"+"`
	DKIM       *dkimSection `yaml:"dkim" json:"dkim" doc:"Signs the hub's mail, for a server that does not do so itself." off:"true"`
	MaxPerDay  int          `yaml:"max_per_day" json:"max_per_day" doc:"How many mails somebody gets in 24 hours at most. More wait." eg:"200"`
	PlainLinks bool         `yaml:"plain_links" json:"plain_links" doc:"The link in a mail asks its reader to sign in, instead of signing them in for that one message. For places where people forward such mails: whoever has one can answer by its link." eg:"true" off:"true"`
}

// smtpSection is where mail goes out.
type smtpSection struct {
	Host     string     `yaml:"host" json:"host" doc:"Its name, which its certificate must have." eg:"smtp.example.com"`
	Port     uint16     `yaml:"port" json:"port" doc:"Left out, 587 for starttls, 465 for tls, 25 for none." eg:"587"`
	TLS      string     `yaml:"tls" json:"tls" doc:"starttls, tls (from the start), or none, for a server on this machine." eg:"starttls"`
	User     string     `yaml:"user" json:"user" doc:"Who the hub signs in as. Left out with a password or oauth, the address in from." eg:"hub@example.com"`
	Password hub.Secret `yaml:"password" json:"password" doc:"Left out, and without oauth, the hub does not sign in." eg:"env:SMTP_PASSWORD"`
	Helo     string     `yaml:"helo" json:"helo" doc:"The name by which the hub greets the server. Left out, the domain of from." eg:"beckon.example.com"`
}

// imapSection is where answers arrive.
type imapSection struct {
	Host     string     `yaml:"host" json:"host" doc:"Its name, which its certificate must have." eg:"imap.example.com"`
	Port     uint16     `yaml:"port" json:"port" doc:"Left out, 993 for tls, 143 for the others." eg:"993"`
	TLS      string     `yaml:"tls" json:"tls" doc:"tls (from the start), starttls, or none, for a server on this machine." eg:"tls"`
	User     string     `yaml:"user" json:"user" doc:"Who the hub signs in as. Left out, that of smtp." eg:"hub@example.com"`
	Password hub.Secret `yaml:"password" json:"password" doc:"Left out, oauth, else the password of smtp." eg:"env:IMAP_PASSWORD"`

	Folders   []string      `yaml:"folders" json:"folders" doc:"What is read, the folder where mail arrives first. \\Junk stands for the server's own name of that folder." eg:"[INBOX]"`
	Processed string        `yaml:"processed" json:"processed" doc:"The folder that answers go to when they are recorded. Left out, they stay." eg:"Beckon/Processed"`
	Rejected  string        `yaml:"rejected" json:"rejected" doc:"The folder for what was read and does not count." eg:"Beckon/Rejected"`
	Unmatched string        `yaml:"unmatched" json:"unmatched" doc:"The folder for what belongs to nothing." eg:"Beckon/Unmatched"`
	Failed    string        `yaml:"failed" json:"failed" doc:"The folder for what the hub can't read." eg:"Beckon/Failed"`
	Backfill  time.Duration `yaml:"backfill" json:"backfill" doc:"How far back a mailbox is read that the hub sees for the first time." eg:"0s"`
}

// listenSection is where a mail server hands answers over.
type listenSection struct {
	Address  string `yaml:"address" json:"address" doc:"An address of this machine, or unix:/path." eg:"127.0.0.1:2424"`
	Protocol string `yaml:"protocol" json:"protocol" doc:"lmtp or smtp." eg:"lmtp"`
	Domain   string `yaml:"domain" json:"domain" doc:"The domain of the addresses that people answer to, when it is not that of from." eg:"answers.example.com"`
}

// oauthSection is where access tokens come from.
type oauthSection struct {
	Provider     string     `yaml:"provider" json:"provider" doc:"microsoft or google, which fills in token_url and scope." eg:"microsoft"`
	Tenant       string     `yaml:"tenant" json:"tenant" doc:"The directory's id, for microsoft." eg:"contoso.example.com"`
	TokenURL     string     `yaml:"token_url" json:"token_url" doc:"The token endpoint of another provider." eg:"https://login.example.com/token"`
	ClientID     string     `yaml:"client_id" json:"client_id" doc:"The app's id." eg:"5f0c1f5e-0000-4000-8000-000000000000"`
	ClientSecret hub.Secret `yaml:"client_secret" json:"client_secret" doc:"The app's secret. Without a refresh_token the app signs in for itself." eg:"env:OAUTH_CLIENT_SECRET"`
	RefreshToken hub.Secret `yaml:"refresh_token" json:"refresh_token" doc:"What the mailbox's owner has granted." eg:"env:OAUTH_REFRESH_TOKEN"`
	Scope        string     `yaml:"scope" json:"scope" doc:"What is asked for." eg:"https://outlook.office365.com/.default"`
}

// dkimSection signs mail.
type dkimSection struct {
	Domain   string     `yaml:"domain" json:"domain" doc:"The signing domain. Left out, that of from." eg:"example.com"`
	Selector string     `yaml:"selector" json:"selector" doc:"The name of the key: it stands in DNS at selector._domainkey.domain." eg:"beckon"`
	Key      hub.Secret `yaml:"key" json:"key" doc:"The private key, RSA or Ed25519, in PEM." eg:"env:DKIM_KEY"`
}

const (
	tlsStart = "starttls"
	tlsWhole = "tls"
	tlsNone  = "none"
)

// Policies of a mailbox, as inbound names them.
const (
	policyStrict = "strict"
	policyNormal = "normal"
	policyToken  = "token"
)

const (
	protoLMTP = "lmtp"
	protoSMTP = "smtp"
)

// plusOff is a mailbox that gets no mail for plus addresses.
const plusOff = "off"

// defaultMaxPerDay is how many mails a person gets in 24 hours.
const defaultMaxPerDay = 200

// Endpoints of the providers that are known by name.
const (
	microsoftTokenURL = "https://login.microsoftonline.com/%s/oauth2/v2.0/token"
	microsoftScope    = "https://outlook.office365.com/.default"
	googleTokenURL    = "https://oauth2.googleapis.com/token"
	googleScope       = "https://mail.google.com/"
)
