// Package ma2h is the wire format of MA2H, the protocol by which agents reach
// people: envelope, Response and the smaller documents, read strictly, written
// exactly, signed and verified.
//
// [Parse] and [Envelope.Validate] read what an agent submits, [AppendMessage]
// and [Response.Marshal] write what it gets back. [SignResponse] signs a push
// and a [Verifier] checks one. Nothing here does I/O, so agents may import the
// package as it is.
//
// Reading is strict where two readers could otherwise disagree: names match
// exactly, and duplicate names, invalid UTF-8, lone surrogates, numbers outside
// the IEEE double range and more than [MaxDepth] levels are refused anywhere in
// a document. Unknown fields are skipped and never come back. What an agent
// owns (state, context data, metadata, schema) is handed on as the bytes that
// came.
//
// A refusal is an [*Error], with [CodeValidation] for a wrong shape and
// [CodeInvalidField] for a wrong meaning. It names the field and the kind of
// what was found there, never the value, so it may be logged and sent back.
package ma2h
