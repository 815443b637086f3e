package main

import (
	"iter"

	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

// demoMessages yields what the demo's agent sends, by name, without what is the
// same for all.
func demoMessages() iter.Seq2[string, *ma2h.Envelope] {
	return func(yield func(string, *ma2h.Envelope) bool) {
		_ = yield("built", demoNotify()) &&
			yield("ship", demoSelect()) &&
			yield("note", demoInput()) &&
			yield("rotate", demoTask())
	}
}

func demoNotify() *ma2h.Envelope {
	return &ma2h.Envelope{
		Type: ma2h.Notify, Title: "Release candidate 2.3.0 is built", Priority: ma2h.Low,
		Tags: []string{"release"},
		Body: "All 812 tests passed in 6 min 40 s.\n\n" +
			"- **New:** invoices can be exported as CSV\n" +
			"- **Fixed:** the search ignored accents\n" +
			"- **Changed:** `orders` gets an index (about 40 s of lock)\n",
	}
}

func demoSelect() *ma2h.Envelope {
	diff := "--- a/migrations/0042_orders_index.sql\n+++ b/migrations/0042_orders_index.sql\n" +
		"@@ -0,0 +1,2 @@\n+CREATE INDEX orders_by_customer\n+    ON orders (customer_id, created_at);\n"
	return &ma2h.Envelope{
		Type: ma2h.Ask, Title: "Ship web-app 2.3.0 to production?", Priority: ma2h.High,
		Tags: []string{"release", "decision"},
		Body: "Everything is green. One migration locks `orders` for about 40 seconds, and traffic is low now.\n\n" +
			"I can go on at once, or wait for somebody to read the migration.",
		Context: []ma2h.Part{
			{Kind: "data", Data: jsontext.Value(`{"commit":"9f3c1e7","files changed":14,"tests":812,"risk":"medium"}`)},
			{Kind: "text", Text: &diff, Metadata: jsontext.Value(`{"name":"0042_orders_index.sql"}`)},
		},
		// The hub keeps it and gives it back untouched, so the agent need not
		// remember where it was.
		State: jsontext.Value(`{"step":"after-build","candidate":"2.3.0"}`),
		Request: &ma2h.Request{
			Mode: ma2h.Select,
			Options: []ma2h.Option{
				{Value: "ship", Label: "Ship it now", Description: "Run the migration and deploy."},
				{Value: "hold", Label: "Hold for review", Description: "Wait until somebody has read the migration."},
				{Value: "abort", Label: "Drop this candidate", Description: "Revert the merge and close the release."},
			},
			DefaultOnExpire: jsontext.Value(`"hold"`),
		},
	}
}

func demoInput() *ma2h.Envelope {
	return &ma2h.Envelope{
		Type: ma2h.Ask, Title: "What should the release note of 2.3.0 say?",
		Tags: []string{"release"},
		Body: "I have a draft, but I can't tell who should read it.",
		Request: &ma2h.Request{
			Mode: ma2h.Input,
			Schema: jsontext.Value(`{"type":"object","properties":{` +
				`"summary":{"type":"string","title":"One sentence for the top","minLength":3,"maxLength":200,` +
				`"default":"Invoices can now be exported as CSV."},` +
				`"audience":{"type":"string","title":"Who gets it","enum":["everyone","admins","nobody"]},` +
				`"warn":{"type":"boolean","title":"Warn about the 40 seconds of lock"}},` +
				`"required":["summary","audience"]}`),
		},
	}
}

func demoTask() *ma2h.Envelope {
	return &ma2h.Envelope{
		Type: ma2h.Task, Title: "Rotate the staging key for signed webhooks",
		Tags: []string{"secrets"},
		Body: "The key is 90 days old. I have no access to the secret store, and should have none.",
		Action: &ma2h.Action{
			Instructions: "Make a new key of 32 random bytes, put it beside the old one, and take the old one away once both sides use the new one.",
			Checklist: []ma2h.ChecklistItem{
				{Text: "Make a key with `openssl rand -base64 32`"},
				{Text: "Add it to the secret store as `WEBHOOK_KEY_NEXT`"},
				{Text: "Restart the sender and the receiver"},
				{Text: "Remove the old key"},
			},
			Verification: "a test event from staging is accepted with the new key.",
		},
	}
}
