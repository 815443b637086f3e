package inbound

import "testing"

// A subject alone says that a program wrote the mail, in whatever way and language
// the program has it; what only sounds like that does not.
func TestAutomaticSubjects(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]bool{
		"Out of Office AutoReply: S": true, // Exchange 2003 and 2007
		"Out of Office Re: S":        true,
		"AutoReply Re: S":            true, "Re: AutoReply: S": true, "[Auto-Reply] S": true, "[AutoReply] Re: S": true,
		"Automatic reply from Alice Ng: S": true, "I'm out of the office: S": true, "I’m out of office": true,
		"Automatic reply: S": true, "Autoantwort: S": true, "Ausente de la oficina: S": true, "Fuera de oficina Re: S": true,
		"Resposta automàtica: S": true, "Automatski odgovor: S": true, "Samodejni odgovor: S": true, "Automatinis atsakymas: S": true,
		"Automātiska atbilde: S": true, "Automaatvastus: S": true, "Sjálfvirkt svar: S": true, "Автоматичен отговор: S": true,
		"Respon otomatis: S": true, "Balasan automatik: S": true, "Trả lời tự động: S": true, "ตอบกลับอัตโนมัติ: S": true,
		"स्वचालित उत्तर: S": true, "自動応答: S": true, "자동 회신: S": true, "رد تلقائي: S": true,

		"Re: S": false, "Re: [Q-7F3K2M] Out of Office AutoReply: S": false, "Re: Out of office supplies": false,
		"Re: autoreply settings": false, "Automatic reply to customers: on or off?": false, "[auto] S": false, "Away team: who goes?": false,
	} {
		if got := Parse([]byte("Subject: " + subject + "\r\n\r\n1\r\n")).autoTitle(); got != want {
			t.Errorf("%s: %v, want %v", subject, got, want)
		}
	}
}
