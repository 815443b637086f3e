package ma2h

// Code is a machine-readable reason of a refusal (spec §8.5). A client reads a
// code that it does not know as the base code of the HTTP status.
type Code string

// The codes of spec §8.5.
const (
	CodeValidation           Code = "validation_error"       // 400: the shape is wrong
	CodeVersion              Code = "version_not_supported"  // 400
	CodeUnauthenticated      Code = "unauthenticated"        // 401
	CodeAgentMismatch        Code = "agent_id_mismatch"      // 403
	CodeNotAuthorized        Code = "not_authorized"         // 403
	CodeNotFound             Code = "not_found"              // 404
	CodeIdempotencyConflict  Code = "idempotency_conflict"   // 409
	CodeAlreadyTerminal      Code = "already_terminal"       // 409
	CodeNotAcknowledgeable   Code = "not_acknowledgeable"    // 409
	CodeGone                 Code = "gone"                   // 410
	CodeInvalidField         Code = "invalid_field"          // 422: the meaning is wrong
	CodeUnknownDestination   Code = "unknown_destination"    // 422
	CodeRateLimited          Code = "rate_limited"           // 429, with Retry-After
	CodeInternal             Code = "internal"               // 500, ours
	CodeUnavailable          Code = "unavailable"            // 503, ours
	CodeUnsupportedMediaType Code = "unsupported_media_type" // 415, ours
	CodeMethodNotAllowed     Code = "method_not_allowed"     // 405, ours
)

// Error says which field of a document is wrong, and what to do about it. It
// never holds the offending value of body, context, state, value or comment.
type Error struct {
	Code  Code
	Field string // dotted path such as request.options[1].value; empty for the whole document
	Msg   string
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Msg
	}
	return e.Field + ": " + e.Msg
}
