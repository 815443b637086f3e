package extract

import "testing"

// htmlMails are replies as programs write them. In each, two lines are written.
var htmlMails = []struct{ name, body string }{
	{"Gmail", `<div dir="ltr">Yes, go ahead.<div>But not before Monday.</div></div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">On Mon, Nov 30, 2026 at 1:00 PM Hub &lt;<a href="mailto:hub@hub.example.test">hub@hub.example.test</a>&gt; wrote:<br></div><blockquote class="gmail_quote" style="margin:0px 0px 0px 0.8ex;border-left:1px solid rgb(204,204,204);padding-left:1ex"><div>Deploy?</div><ol><li>Approve</li></ol></blockquote></div>`},
	{"Gmail with signature", `<div dir="ltr">Yes, go ahead.<div>But not before Monday.</div><div><br></div><span class="gmail_signature_prefix">-- </span><br><div dir="ltr" class="gmail_signature" data-smartmail="gmail_signature"><div dir="ltr">Alice Example<div>Head of Things</div></div></div></div><br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">On Mon, Nov 30, 2026 at 1:00 PM Hub wrote:<br></div><blockquote class="gmail_quote">Deploy?</blockquote></div>`},
	{"Gmail in a language that nobody knows", `<div dir="ltr">Yes, go ahead.<div>But not before Monday.</div></div><br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">Zzz 2026 zz Hub zzz<br></div><blockquote class="gmail_quote">Deploy?</blockquote></div>`},
	{"Gmail app", `<div dir="auto">Yes, go ahead.</div><div dir="auto">But not before Monday.</div><br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">Am Mo., 30. Nov. 2026, 13:00 hat Hub &lt;hub@hub.example.test&gt; geschrieben:<br></div><blockquote class="gmail_quote"><div>Deploy?</div></blockquote></div>`},
	{"Gmail, bottom post", `<div dir="ltr"><div class="gmail_quote"><div dir="ltr" class="gmail_attr">On Mon, Nov 30, 2026 at 1:00 PM Hub &lt;hub@hub.example.test&gt; wrote:<br></div><blockquote class="gmail_quote"><div>Deploy?</div></blockquote><div><br></div><div>Yes, go ahead.</div><div>But not before Monday.&nbsp;</div></div></div>`},
	{"Apple Mail", `<html><head><meta http-equiv="content-type" content="text/html; charset=utf-8"></head><body style="overflow-wrap: break-word;">Yes, go ahead.<div>But not before Monday.<br><div><br><blockquote type="cite"><div>On Nov 30, 2026, at 1:00 PM, Hub &lt;hub@hub.example.test&gt; wrote:</div><br class="Apple-interchange-newline"><div><div>Deploy?</div></div></blockquote></div><br></div></body></html>`},
	{"iOS Mail", `<html><body dir="auto">Yes, go ahead.<div>But not before Monday.<br><br><div dir="ltr">Sent from my iPhone</div><div dir="ltr"><br><blockquote type="cite">On Nov 30, 2026, at 1:00 PM, Hub &lt;hub@hub.example.test&gt; wrote:<br><br></blockquote></div><blockquote type="cite"><div dir="ltr">&#65279;<div>Deploy?</div></div></blockquote></div></body></html>`},
	{"iOS Mail, id of the signature", `<html><body dir="auto">Yes, go ahead.<br>But not before Monday.<br><br><div id="AppleMailSignature" dir="ltr">Von unterwegs</div><div dir="ltr"><br>On Nov 30, 2026, at 1:00 PM, Hub &lt;hub@hub.example.test&gt; wrote:<br><br></div><blockquote type="cite"><div dir="ltr">Deploy?</div></blockquote></body></html>`},
	{"Apple Mail, cited without a line above", `<body>Yes, go ahead.<div>But not before Monday.</div><blockquote type="cite"><div>Deploy?</div><div>1. Approve</div></blockquote></body>`},
	{"Apple Mail, below the quote", `<body><blockquote type="cite"><div>On Nov 30, 2026, at 1:00 PM, Hub wrote:</div><div>Deploy?</div></blockquote><br><div>Yes, go ahead.</div><div>But not before Monday.</div></body>`},
	{"Outlook desktop", `<html xmlns:o="urn:schemas-microsoft-com:office:office"><head><style><!-- p.MsoNormal {margin:0cm;} --></style><!--[if gte mso 9]><xml><o:shapedefaults v:ext="edit"/></xml><![endif]--></head><body lang="DE"><div class="WordSection1"><p class="MsoNormal">Yes, go ahead.<o:p></o:p></p><p class="MsoNormal">But not before Monday.<o:p></o:p></p><p class="MsoNormal"><o:p>&nbsp;</o:p></p><div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0cm 0cm 0cm"><p class="MsoNormal"><b>Von:</b> Hub &lt;hub@hub.example.test&gt; <br><b>Gesendet:</b> Montag, 30. November 2026 13:00<br><b>An:</b> Alice<br><b>Betreff:</b> Deploy?</p></div><p class="MsoNormal">Deploy?</p></div></body></html>`},
	{"Outlook desktop, fields that nobody knows", `<div class="WordSection1"><p class="MsoNormal">Yes, go ahead.</p><p class="MsoNormal">But not before Monday.</p><div><div style="border:none;border-top:solid #B5C4DF 1.0pt;padding:3.0pt 0in 0in 0in"><p class="MsoNormal">Zzz: Hub<br>Yyy: 30<br></p></div></div><p class="MsoNormal">Deploy?</p></div>`},
	{"Outlook desktop, list", `<div class="WordSection1"><p class="MsoNormal">Yes, go ahead.</p><p class="MsoNormal">But not before Monday.</p><p class="MsoNormal">&nbsp;</p><p class="MsoNormal">Alice Example</p><p class="MsoNormal">Release Manager | Example GmbH</p><p class="MsoNormal">Tel: +49 30 1234567</p><p class="MsoNormal">&nbsp;</p><div><div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0cm 0cm 0cm"><p class="MsoNormal"><b>From:</b> Hub</p></div></div><p>Deploy?</p></div>`},
	{"Outlook web", `<html><body dir="ltr"><div class="elementToProof" style="font-family: Aptos;">Yes, go ahead.</div><div class="elementToProof">But not before Monday.</div><div id="appendonsend"></div><hr style="display:inline-block;width:98%" tabindex="-1"><div id="divRplyFwdMsg" dir="ltr"><font face="Calibri, sans-serif" color="#000000"><b>From:</b> Hub &lt;hub@hub.example.test&gt;<br><b>Sent:</b> Monday, November 30, 2026 1:00 PM<br><b>To:</b> Alice<br><b>Subject:</b> Deploy?</font><div>&nbsp;</div></div><div>Deploy?</div></body></html>`},
	{"Outlook web, signature", `<body dir="ltr"><div class="elementToProof">Yes, go ahead.</div><div>But not before Monday.</div><div class="elementToProof" id="Signature"><div>Alice Example, PhD</div><div>Somewhere 12</div></div><div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>Zzz:</b> Hub</div><div>Deploy?</div></body>`},
	{"Outlook iOS", `<html><body><div dir="ltr">Yes, go ahead.</div><div dir="ltr">But not before Monday.</div><div id="ms-outlook-mobile-body-separator-line" dir="ltr"><br></div><div id="ms-outlook-mobile-signature" dir="ltr">Get <a href="https://aka.ms/o0ukef">Outlook for iOS</a></div><div id="mail-editor-reference-message-container" class="ms-outlook-mobile-reference-message"><hr style="display:inline-block;width:98%"><div id="divRplyFwdMsg"><strong>From:</strong> Hub</div>Deploy?</div></body></html>`},
	{"Outlook Mac", `<body><div><div>Yes, go ahead.</div><div>But not before Monday.</div></div><div><br></div><span id="OLK_SRC_BODY_SECTION"><div><span>From: </span>Hub</div><div>Deploy?</div></span></body>`},
	{"Hotmail", `<body class='hmmessage'><div dir='ltr'>Yes, go ahead.<br>But not before Monday.<br><br><div><hr id="stopSpelling">Date: Mon, 30 Nov 2026 13:00:00 +0100<br>Subject: Deploy?<br>From: hub@hub.example.test<br><br>Deploy?</div></div></body>`},
	{"Windows Mail", `<body><div>Yes, go ahead.</div><div>But not before Monday.</div><div style="padding-top: 5px; border-top-color: rgb(229, 229, 229); border-top-width: 1px; border-top-style: solid;"><div><b>Zzz:</b> Hub</div></div><div>Deploy?</div></body>`},
	{"Thunderbird", `<html><body text="#000000"><p>Yes, go ahead.<br>But not before Monday.</p><div class="moz-cite-prefix">Am 30.11.2026 um 13:00 schrieb Hub:<br></div><blockquote type="cite" cite="mid:q-101@hub.example.test"><pre class="moz-quote-pre" wrap="">Deploy?
1. Approve</pre></blockquote><div class="moz-signature">-- <br>Alice</div></body></html>`},
	{"Thunderbird, bottom post", `<html><body><div class="moz-cite-prefix">Zzz 30.11.2026 13:00 Hub zz:<br></div><blockquote type="cite" cite="mid:q"><p>Deploy?</p></blockquote><p>Yes, go ahead.<br>But not before Monday.</p></body></html>`},
	{"Yahoo", `<html><head></head><body><div class="ydp1 yahoo-style-wrap" style="font-family:Helvetica"><div dir="ltr" data-setdir="false">Yes, go ahead.</div><div>But not before Monday.</div></div><div id="ydp2yahoo_quoted_0123" class="ydp2yahoo_quoted"><div style="font-family:Helvetica"><div>On Monday, November 30, 2026 at 01:00:00 PM GMT+1, Hub &lt;hub@hub.example.test&gt; wrote:</div><div><br></div><div>Deploy?</div></div></div></body></html>`},
	{"Yahoo Android", `Yes, go ahead.<br clear="none">But not before Monday.<br><br><div id="ymail_android_signature"><a href="https://mail.onelink.me/107872968">Sent from Yahoo Mail on Android</a></div> <br> <blockquote style="margin: 0 0 20px 0;"> <div style="font-family:Roboto"> <div>On Mon, Nov 30, 2026 at 1:00 PM, Hub</div><div>&lt;hub@hub.example.test&gt; wrote:</div> </div> <div>Deploy?</div> </blockquote>`},
	{"Proton", `<div style="font-family: Arial;">Yes, go ahead.</div><div>But not before Monday.</div><div class="protonmail_signature_block protonmail_signature_block-empty"></div><div><br></div><div class="protonmail_quote">On Monday, November 30th, 2026 at 13:00, Hub &lt;hub@hub.example.test&gt; wrote:<br><blockquote class="protonmail_quote" type="cite"><div>Deploy?</div></blockquote><br></div>`},
	{"Samsung", `<html><body><div dir="auto">Yes, go ahead.</div><div dir="auto">But not before Monday.</div><div dir="auto"><br></div><div id="composer_signature" dir="auto"><div style="font-size:12px;color:#575757" dir="auto">Sent from my Galaxy</div></div><div dir="auto"><br></div><div><br></div><div align="left" dir="auto" style="font-size:100%;color:#000000"><div>-------- Original message --------</div><div>From: Hub &lt;hub@hub.example.test&gt; </div><div>Date: 30/11/2026  13:00  (GMT+01:00) </div><div>To: alice@example.test </div><div>Subject: Deploy? </div><div><br></div></div>Deploy?</body></html>`},
	{"K-9", `<!DOCTYPE html><html><body>Yes, go ahead.<br>But not before Monday.<br><br><div class="gmail_quote"><div dir="auto">Am 30. November 2026 13:00:00 MEZ schrieb Hub &lt;hub@hub.example.test&gt;:</div><blockquote class="gmail_quote" style="margin: 0pt 0pt 0pt 0.8ex; border-left: 1px solid rgb(204, 204, 204); padding-left: 1ex;">Deploy?</blockquote></div><div class='k9mail-signature'>-- <br>Gesendet mit K-9 Mail.</div></body></html>`},
	{"Zoho", `<div style="font-family: Verdana;"><div>Yes, go ahead.</div><div>But not before Monday.</div><br><div id="Zm-_Id_-Sgn" data-sigid="1"></div><br><div class="zmail_extra_hr" style="border-top: 1px solid rgb(204, 204, 204); height: 0px;"><br></div><div class="zmail_extra" data-zbluepencil-ignore="true"><br><div id="Zm-_Id_-Sgn1">---- On Mon, 30 Nov 2026 13:00:00 +0100 <b>Hub &lt;hub@hub.example.test&gt;</b> wrote ---<br></div><br><blockquote id="blockquote_zmail">Deploy?</blockquote></div></div>`},
	{"mail.ru", `<HTML><BODY><div>Yes, go ahead.</div><div>But not before Monday.</div><div>&nbsp;</div><blockquote style="border-left:1px solid #0857A6;margin:10px;padding:0 0 0 10px;">Понедельник, 30 ноября 2026, 13:00 +03:00 от Hub &lt;hub@hub.example.test&gt;:<br>&nbsp;<div id=""><div class="js-helper js-readmsg-msg">Deploy?</div></div></blockquote></BODY></HTML>`},
	{"Yandex", `<div>Yes, go ahead.</div><div>But not before Monday.</div><div>&nbsp;</div><div>30.11.2026, 13:00, "Hub" &lt;hub@hub.example.test&gt;:</div><blockquote><p>Deploy?</p></blockquote><div>&nbsp;</div><div>&nbsp;</div><div>-- <br />Alice</div>`},
	{"QQ", `<div>Yes, go ahead.</div><div>But not before Monday.</div><div><br></div><div><!--emptysign--></div><div style="font-size: 12px;font-family: Arial Narrow;padding:2px 0 2px 0;">------------------&nbsp;原始邮件&nbsp;------------------</div><div style="font-size: 12px;background:#efefef;padding:8px;"><div><b>发件人:</b> "Hub" &lt;hub@hub.example.test&gt;;</div><div><b>发送时间:</b> 2026年11月30日(星期一) 中午1:00</div><div><b>收件人:</b> "Alice"&lt;alice@example.test&gt;;</div><div><b>主题:</b> Deploy?</div></div><div><br></div>Deploy?`},
	{"163", `<div style="line-height:1.7;color:#000000;font-size:14px"><div>Yes, go ahead.</div><div>But not before Monday.</div><div style="position:relative;zoom:1"></div><div id="divNeteaseMailCard"></div><pre>At 2026-11-30 13:00:00, "Hub" &lt;hub@hub.example.test&gt; wrote:</pre><blockquote id="isReplyContent" style="PADDING-LEFT: 1ex; MARGIN: 0px 0px 0px 0.8ex; BORDER-LEFT: #ccc 1px solid"><div>Deploy?</div></blockquote></div>`},
	{"Zimbra", `<html><body><div style="font-family: arial"><div>Yes, go ahead.</div><div>But not before Monday.</div><div><br></div><hr id="zwchr" data-marker="__DIVIDER__"><div data-marker="__HEADERS__"><b>From: </b>"Hub" &lt;hub@hub.example.test&gt;<br><b>To: </b>"Alice"<br><b>Sent: </b>Monday, November 30, 2026 1:00:00 PM<br><b>Subject: </b>Deploy?<br></div><br><div data-marker="__QUOTED_TEXT__">Deploy?</div></div></body></html>`},
	{"Zimbra, quoted", `<div>Yes, go ahead.</div><div>But not before Monday.</div><br><span id="zwchr" data-marker="__DIVIDER__">----- On Nov 30, 2026, at 1:00 PM, Hub &lt;hub@hub.example.test&gt; wrote: <br></span><blockquote data-marker="__QUOTED_TEXT__">Deploy?</blockquote>`},
	{"GMX", `<html><head></head><body><div style="font-family: Verdana"><div>Yes, go ahead.</div><div>But not before Monday.</div><div>&nbsp;<div name="quote" style="margin:10px 5px 5px 10px; padding: 10px 0 10px 10px; border-left:2px solid #C3D9E5;"><div style="margin:0 0 10px 0;"><b>Gesendet:</b>&nbsp;Montag, 30. November 2026 um 13:00 Uhr<br/><b>Von:</b>&nbsp;"Hub" &lt;hub@hub.example.test&gt;<br/></div><div name="quoted-content">Deploy?</div></div></div></div></body></html>`},
	{"Fastmail", `<!DOCTYPE html><html><head><title></title><style type="text/css">p.MsoNormal{margin:0}</style></head><body><div>Yes, go ahead.</div><div>But not before Monday.</div><div><br></div><div>On Mon, 30 Nov 2026, at 13:00, Hub wrote:</div><blockquote type="cite" id="qt" style=""><div>Deploy?</div></blockquote></body></html>`},
	{"Roundcube", `<html><body><p>Yes, go ahead.<br />But not before Monday.</p><p id="reply-intro">Zzz 2026-11-30 13:00, Hub:</p><blockquote type="cite" style="padding: 0 0.4em; border-left: #1010ff 2px solid; margin: 0"><div>Deploy?</div></blockquote><div id="_rc_sig">-- <br />Alice</div></body></html>`},
	{"Tutanota", `<div>Yes, go ahead.<br></div><div>But not before Monday.<br></div><div><br></div><div>30 Nov 2026, 13:00 by hub@hub.example.test:<br></div><blockquote class="tutanota_quote"><div>Deploy?</div></blockquote>`},
	{"Spark", `<html><body><div name="messageBodySection"><div dir="auto">Yes, go ahead.<br>But not before Monday.</div></div><div name="messageSignatureSection"><br><div class="matchFont">Alice</div></div><div name="messageReplySection">On Nov 30, 2026, 13:00 +0100, Hub &lt;hub@hub.example.test&gt;, wrote:<br><blockquote type="cite">Deploy?</blockquote></div></body></html>`},
	{"Superhuman", `<html><body><div><div><div>Yes, go ahead.</div><div>But not before Monday.</div><br><div class="sh-signature"><div class="gmail_signature">Alice</div></div></div><br><div><div class="gmail_quote">On Mon, Nov 30, 2026 at 1:00 PM, Hub <span dir="ltr">&lt;<a href="mailto:hub@hub.example.test">hub@hub.example.test</a>&gt;</span> wrote:<br><blockquote class="gmail_quote sh-color-black" style="margin:0 0 0 .8ex;border-left:1px #ccc solid;padding-left:1ex;">Deploy?</blockquote></div></div></div></body></html>`},
	{"Front", `<div>Yes, go ahead.</div><div>But not before Monday.</div><br><div class="front-signature">Alice</div><br><blockquote type="cite" class="front-blockquote">On November 30, 2026 at 1:00 PM GMT+1 <a href="mailto:hub@hub.example.test">hub@hub.example.test</a> wrote:<br><br><div>Deploy?</div></blockquote>`},
	{"Missive", `<div>Yes, go ahead.</div><div>But not before Monday.</div><br><div class="missive_quote"><div>On November 30, 2026 at 1:00 PM, Hub wrote:</div><blockquote>Deploy?</blockquote></div>`},
	{"HEY", `<div class="trix-content"><div>Yes, go ahead.<br>But not before Monday.</div></div><br><div>On November 30, 2026, Hub &lt;hub@hub.example.test&gt; wrote:</div><blockquote><div>Deploy?</div></blockquote>`},
	{"Mailspring", `<div>Yes, go ahead.</div><div>But not before Monday.</div><signature id="initial"><br>Alice</signature><div class="gmail_quote nylas-quote nylas-quote-id-1"><br>On Nov 30 2026, at 1:00 pm, Hub &lt;hub@hub.example.test&gt; wrote:<br><blockquote class="gmail_quote">Deploy?</blockquote></div>`},
	{"Notes", `<font size=2 face="sans-serif">Yes, go ahead.</font><br><font size=2>But not before Monday.</font><br><br><br><font size=1 color=#5f5f5f face="sans-serif">From: &nbsp; &nbsp; &nbsp; &nbsp;</font><font size=1>Hub &lt;hub@hub.example.test&gt;</font><br><font size=1 color=#5f5f5f>To: &nbsp; &nbsp; &nbsp; &nbsp;</font><font size=1>Alice/Example</font><br><font size=1 color=#5f5f5f>Date: &nbsp; &nbsp; &nbsp; &nbsp;</font><font size=1>30.11.2026 13:00</font><br><font size=1 color=#5f5f5f>Subject: &nbsp; &nbsp; &nbsp; &nbsp;</font><font size=1>Deploy?</font><br><hr noshade><br>Deploy?`},
	{"SquirrelMail as HTML", `<p>Yes, go ahead.<br>But not before Monday.</p><p>&gt; On Nov 30, 2026, at 13:00, Hub &lt;hub@hub.example.test&gt; wrote:<br>&gt;<br>&gt; Deploy?<br>&gt; 1. Approve</p>`},
	{"quoted again by Outlook", `<div>Yes, go ahead.</div><div>But not before Monday.</div><div id="x_divRplyFwdMsg"><b>Zzz:</b> Hub</div><div class="x_gmail_quote">Deploy?</div>`},
	{"our own id", `<div>Yes, go ahead.</div><div>But not before Monday.</div><div id="x_beckon-mail"><p>Deploy?</p></div>`},
	{"hidden", `<div style="display:none">Preview of something</div><div>Yes, go ahead.</div><div>But not before Monday.</div><div style="DISPLAY: none">zzz</div><script>x()</script><img src="x" alt="logo">`},
	{"upper case", `<DIV>Yes, go ahead.</DIV><DIV>But not before Monday.</DIV><BLOCKQUOTE TYPE="CITE"><DIV>Deploy?</DIV></BLOCKQUOTE>`},
	{"not closed", `<div>Yes, go ahead.<p>But not before Monday.<blockquote type=cite><p>Deploy?<p>1. Approve`},
	{"closed wrongly", `<div><b>Yes, go ahead.</div></b></p><div><i>But not before Monday.</div></span></table><blockquote type=cite>Deploy?</div></blockquote>`},
	{"table", `<table><tr><td><div>Yes, go ahead.</div></td></tr><tr><td>But not before Monday.</td></tr></table><blockquote type=cite>Deploy?</blockquote>`},
	{"indented", `<blockquote style="margin:0 0 0 40px;border:none;padding:0px"><div>Yes, go ahead.</div><div>But not before Monday.</div></blockquote><div class="gmail_quote"><div class="gmail_attr">On Mon, Nov 30, 2026 at 1:00 PM Hub wrote:</div><blockquote class="gmail_quote">Deploy?</blockquote></div>`},
	{"indented otherwise", `<blockquote style="margin-left:40px"><div>Yes, go ahead.</div><div>But not before Monday.</div></blockquote>`},
	{"banner", `<table><tr><td>CAUTION: This email originated from outside of the organization.</td></tr></table><div>Yes, go ahead.</div><div>But not before Monday.</div>`},
}

func TestHTML(t *testing.T) {
	t.Parallel()
	for _, m := range htmlMails {
		r := HTML(m.body)
		if got := (corpusRow{}).folded(r.Own); got != "Yes, go ahead. But not before Monday." || r.First != "Yes, go ahead." {
			t.Errorf("%s: %q, first %q, cut %q", m.name, r.Own, r.First, r.Cut)
		}
		if r.Text != r.Own {
			t.Errorf("%s: text %q, own %q", m.name, r.Text, r.Own)
		}
	}
}

func TestHTMLText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, want string }{
		{"paragraphs", `<p>One</p><p>Two<br>Three</p>`, "One\n\nTwo\nThree"},
		{"white space", "<div>  One \n two\t<b>three</b> , four</div>\n\n<div>five</div>", "One two three , four\nfive"},
		{"pre", "<pre>a\n  b\n\nc</pre>", "a\n  b\n\nc"},
		{"list", `<div>Two:</div><ul><li>one</li><li>two</li></ul>`, "Two:\n\n- one\n- two"},
		{"numbers that the program made", `<ol start="2"><li></li></ol>`, "2."},
		{"number and word", `<ol start="3"><li>Defer</li></ol>`, "3. Defer"},
		{"numbers", `<ol><li>a</li><li>b</li><li value="7">c</li><li>d</li></ol>`, "1. a\n2. b\n7. c\n8. d"},
		{"emoji as a picture", `<div><img src="x" alt="👍"> <img alt="👍 like"><img data-emoji="✅" alt="✅"></div>`, "👍 ✅"},
		{"struck out", `<div><s>Approve</s> Reject</div>`, "~Approve~ Reject"},
		{"struck out by style", `<span style="text-decoration: line-through">Approve</span><div>Reject</div>`, "~Approve~\nReject"},
		{"link", `<a href="https://example.test/x">the page</a>`, "the page"},
		{"cells", `<table><tr><td>Approve</td><td>now</td></tr></table>`, "Approve now"},
		{"entities", `1 &lt; 2 &amp; 3&nbsp;&eacute;&#128077;`, "1 < 2 & 3\u00a0é👍"},
		{"no HTML", "Approve\nnow", "Approve now"},
		{"empty", "", ""},
		{"nothing to see", "<html><head><title>x</title><style>p{}</style></head><body><br></body></html>", ""},
		{"own quote kept", `Look:<blockquote class="gmail_quote"><div>it is fine</div></blockquote><div>so go</div>`, "Look:\n\n> it is fine\n\nso go"},
		{"empty with a quote", `<div><br></div><div class="gmail_quote"><div class="gmail_attr">On Mon, Nov 30, 2026 at 1:00 PM Hub wrote:</div><blockquote class="gmail_quote">Deploy?<br>1. Approve</blockquote></div>`, ""},
		{"empty with a signature", `<div id="Signature">Alice Example</div><div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>From:</b> Hub</div>`, ""},
		{"written into the signature", `<div id="Signature">Yes, but please wait until Monday.</div><div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>From:</b> Hub</div>`, "Yes, but please wait until Monday."},
		{
			"answers between quotes", `<div class="gmail_quote"><div class="gmail_attr">On Mon, Nov 30, 2026 at 1:00 PM Hub wrote:<br></div><blockquote class="gmail_quote"><div>Deploy?</div></blockquote><div>Yes.</div><blockquote class="gmail_quote"><div>When?</div></blockquote><div>Now.</div></div>`,
			"On Mon, Nov 30, 2026 at 1:00 PM Hub wrote:\n\n> Deploy?\n\nYes.\n\n> When?\n\nNow.",
		},
	} {
		r := HTML(tc.body)
		if r.Text != tc.want {
			t.Errorf("%s: %q, want %q; cut %q", tc.name, r.Text, tc.want, r.Cut)
		}
	}
}

// Of text and HTML, the text is read, unless only the HTML tells more.
func TestBody(t *testing.T) {
	t.Parallel()
	const zzz = `<div>Yes.</div><div class="gmail_quote"><div class="gmail_attr">Zzz zz</div><blockquote class="gmail_quote">Deploy?</blockquote></div>`
	for _, tc := range []struct{ name, text, html, want string }{
		{"both", "Yes.\n\nOn 30/11/2026 13:00, Hub wrote:\n> Deploy?", "<p>No.</p>", "Yes."},
		{"only text", "Yes.", "", "Yes."},
		{"only HTML", " \n", "<p>No.</p>", "No."},
		{"neither", "", "", ""},
		{"text is empty", "On 30/11/2026 13:00, Hub wrote:\n> Deploy?", "<p>No.</p>", "No."},
		{"quote seen in the HTML only", "Yes.\n\nZzz zz\n\nDeploy?\n", zzz, "Yes."},
		{"text without a quote, HTML too", "Yes.\nBut wait.", "<p>Yes.</p>", "Yes.\nBut wait."},
	} {
		if r := Body(tc.text, tc.html); r.Text != tc.want {
			t.Errorf("%s: %q, want %q; cut %q", tc.name, r.Text, tc.want, r.Cut)
		}
	}
}
