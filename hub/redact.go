package hub

import (
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Mask stands where a secret was.
const Mask = "••••"

// secretShapes are well-known forms of credentials, each with the vendor's own
// prefix so that ordinary text is left alone. Rule 11: they are masked in agent
// text before every channel.
var secretShapes = []*regexp.Regexp{
	regexp.MustCompile(`\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}\b`),                                    // AWS access key ids
	regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{36,251}\b`),                                               // GitHub tokens
	regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{22,255}\b`),                                             // GitHub fine-grained tokens
	regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`),                                                      // GitLab
	regexp.MustCompile(`\bxox[abeprs]-[A-Za-z0-9-]{10,}`),                                                 // Slack tokens
	regexp.MustCompile(`\bxapp-[0-9]-[A-Za-z0-9-]{10,}`),                                                  // Slack app tokens
	regexp.MustCompile(`https://hooks\.slack\.com/services/[A-Za-z0-9/_-]+`),                              // Slack webhooks
	regexp.MustCompile(`\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{20,}`),                                 // OpenAI, Anthropic
	regexp.MustCompile(`\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}`),                                          // Stripe
	regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{35}`),                                                         // Google API keys
	regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}\b`),                                                         // npm
	regexp.MustCompile(`\bpypi-[A-Za-z0-9_-]{50,}`),                                                       // PyPI
	regexp.MustCompile(`\bdop_v1_[a-f0-9]{64}\b`),                                                         // DigitalOcean
	regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`),                                    // SendGrid
	regexp.MustCompile(`\bbkn_[a-z2-7]{32}\b`),                                                            // our own
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`),              // JWT
	regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), // PEM
}

// secretHints are substrings, one of which every shape above contains: text
// without any of them is not searched at all.
var secretHints = []string{
	"AKIA", "ASIA", "AGPA", "AIDA", "AROA", "gh", "github_pat_", "glpat-", "xox", "xapp-", "hooks.slack", "sk-", "k_live_", "k_test_",
	"AIza", "npm_", "pypi-", "dop_v1_", "SG.", "bkn_", "eyJ", "PRIVATE KEY",
}

// redactor masks secrets and counts them.
type redactor struct {
	extra  []*regexp.Regexp // the config's own patterns
	masked int
}

func (r *redactor) text(s string) string {
	for _, re := range r.extra {
		s = r.replace(re, s)
	}
	hinted := false
	for _, h := range secretHints {
		if hinted = strings.Contains(s, h); hinted {
			break
		}
	}
	if !hinted {
		return s
	}
	for _, re := range secretShapes {
		s = r.replace(re, s)
	}
	return s
}

func (r *redactor) replace(re *regexp.Regexp, s string) string {
	return re.ReplaceAllStringFunc(s, func(hit string) string {
		if hit == "" || hit == Mask {
			return hit
		}
		r.masked++
		return Mask
	})
}

// json masks the strings and names inside a JSON value that was scanned before.
func (r *redactor) json(v jsontext.Value) jsontext.Value {
	switch v.Kind() {
	case '"':
		plain := textOf(v)
		if masked := r.text(plain); masked != plain {
			out, _ := jsontext.AppendQuote(nil, masked)
			return out
		}
		return v
	case '{':
		out := []byte{'{'}
		for i, m := range members(v) {
			if i > 0 {
				out = append(out, ',')
			}
			out, _ = jsontext.AppendQuote(out, r.text(m.name))
			out = append(append(out, ':'), r.json(m.value)...)
		}
		return append(out, '}')
	case '[':
		out := []byte{'['}
		for i, e := range elements(v) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, r.json(e)...)
		}
		return append(out, ']')
	}
	return v
}
