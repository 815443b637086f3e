package extract

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// attrs are the attributes that tell what an element is, in lower case and,
// for a style, without spaces.
type attrs struct {
	class, id, name, style, typ, start, value, alt, marker string
	sign, off, cited                                       bool
}

// attributes reads the attributes of the tag that the tokenizer is at.
func attributes(z *html.Tokenizer, more bool) attrs {
	var a attrs
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		if len(value) > 2000 {
			value = value[:2000]
		}
		v := strings.ToLower(string(value))
		switch string(key) {
		case "class":
			a.class = v
		case "id":
			a.id = v
		case "name":
			a.name = v
		case "style":
			a.style = strings.Join(strings.Fields(v), "")
		case "type":
			a.typ = v
		case "start":
			a.start = v
		case "value":
			a.value = v
		case "alt":
			a.alt = string(value)
		case "data-marker":
			a.marker = v
		case "data-smartmail", "data-signature", "data-signatureblock":
			a.sign = strings.Contains(v, "signature") || v == "true" || string(key) == "data-signature"
		case "hidden":
			a.off = true
		case "itemtype":
			a.cited = strings.Contains(v, "quotedtext")
		}
	}
	return a
}

// hidden reports whether an element is not shown.
func (a attrs) hidden() bool {
	return a.off || strings.Contains(a.style, "display:none") || strings.Contains(a.style, "mso-hide:all") || strings.Contains(a.style, "visibility:hidden")
}

// Programs put a prefix before classes and ids when they quote ("x_" Outlook,
// "ecx" Hotmail, "ydp…" Yahoo), so all of these are looked for anywhere in them.
var (
	// signatureName marks a signature.
	signatureName = regexp.MustCompile(`signature|bloop_sign|_rc_sig|wisestamp|^sig$|^sig\d`)
	// introName marks a line such as "On … wrote:".
	introName = regexp.MustCompile(`gmail_attr|moz-cite-prefix|divrplyfwdmsg|outlookmessageheader|moz-email-headers-table|reply-intro|cm_reply_info|zmail_extra_hdr|quote-header|quoteheader|front-attribution|missive_attribution`)
	// enclosingName marks an element that holds a quoted mail, and nothing else.
	enclosingName = regexp.MustCompile(`yahoo_quoted|protonmail_quote|tutanota_(?:email_)?quote|zmail_extra|cm_quote|missive_quote|appleoriginalcontents|bloop_original|aqm-original|quoted-?content|sh-quoted|composer_quote|hs_quote`)
	// openingName marks an element with which, or below which, a quoted mail begins.
	openingName = regexp.MustCompile(`gmail_quote|moz-forward-container|outlookmessageheader|divrplyfwdmsg|appendonsend|stopspelling|olk_src_body_section|mail-editor-reference-message-container|isreplycontent|replysplit|zwchr|fastmail-quoted|forwardmessage|edo-reply|cm_replymail_content|mailquote|mail-quote|ntes-.*quote|history_?quote|lotusquote|originalmessage|original-message|` + HTMLID)
	// outlookRule is the line that Outlook and Windows Mail draw above a quoted
	// mail, in their colours.
	outlookRule = regexp.MustCompile(`border-top(?:-color)?:[^;]*(?:solid)?[^;]*(?:#b5c4df|#e1e1e1|rgb\(181,196,223\)|rgb\(225,225,225\)|rgb\(229,229,229\))`)
)

// signature reports whether an element is a signature.
func (a attrs) signature(tag string) bool {
	return a.sign || tag == "signature" || strings.Contains(a.name, "signature") || a.class != "" && signatureName.MatchString(a.class) || a.id != "" && signatureName.MatchString(a.id)
}

// introduces reports whether an element is the line above a quote, or the
// header of it.
func (a attrs) introduces() bool {
	return a.class != "" && introName.MatchString(a.class) || a.id != "" && introName.MatchString(a.id) ||
		a.marker == "__headers__" || a.style != "" && outlookRule.MatchString(a.style)
}

// encloses reports whether an element holds nothing but a quoted mail.
func (a attrs) encloses() bool {
	return a.class != "" && enclosingName.MatchString(a.class) || a.id != "" && enclosingName.MatchString(a.id) ||
		strings.Contains(a.name, "messagereplysection") || a.name == "quote"
}

// quotes returns the rule by which a quoted mail begins at or in an element, or
// "". A blockquote is no such, since people make some themselves.
func (a attrs) quotes(tag string) string {
	if tag == "blockquote" || tag == "body" || tag == "html" {
		return ""
	}
	for _, s := range []string{a.class, a.id} {
		if s == "" {
			continue
		}
		if name := openingName.FindString(s); name != "" {
			return "HTML " + name
		}
	}
	switch {
	case strings.HasPrefix(a.marker, "__divider"), strings.HasPrefix(a.marker, "__headers"), strings.HasPrefix(a.marker, "__quoted"):
		return "HTML data-marker"
	case a.style != "" && outlookRule.MatchString(a.style):
		return "HTML border of Outlook"
	}
	return ""
}

// indents reports whether a blockquote only moves text to the right.
func (a attrs) indents() bool {
	return a.typ != "cite" && !strings.Contains(a.class, "quote") && (strings.Contains(a.style, "border:none") || strings.Contains(a.style, "border:0") || strings.Contains(a.style, "border-width:initial;border-style:none"))
}

// The marks of a quote that HTML makes.
const (
	markCited  = "HTML cite"       // of a mail
	markClient = "HTML blockquote" // of a mail, if it stands at the end
	markPerson = "HTML quote"      // of anything
)

// citation says what kind of quote an element is.
func (a attrs) citation(tag string) string {
	switch {
	case tag != "blockquote" || a.typ == "cite" || a.cited:
		return markCited
	case strings.Contains(a.class, "gmail_quote"): // also made by the button for quotes
		return markPerson
	}
	return markClient
}
