package callback

var RetryAfter = retryAfter
