// Package mail builds one message for one person and hands it to the company's
// mail server.
//
// It promises to say exactly how far each message got. Every try ends in one
// Outcome, and the kinds differ in who is at fault and in what may be done next:
//
//	connect, TLS, AUTH ──▶ MAIL FROM ──▶ RCPT TO ──▶ DATA ──▶ end of data ──▶ 250
//	└── Unavailable, SenderRefused ──┘  └─ Temporary, Permanent ─┘  │
//	     ours; nothing was handed over     this message's           └▶ Unknown, or Delivered
//
// The same message carries the same Message-ID on every try, so that a receiver
// can drop a repeat after an Unknown.
//
// It refuses to speak to another machine without TLS, to send a password in
// clear, and to write a header that somebody's name could break out of. It logs
// nothing: the server's words are returned for the event's row and may hold the
// recipient's address, so they belong on the row and not in a log.
package mail
