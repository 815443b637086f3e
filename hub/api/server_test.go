package api_test

// parkPolls is filled in below.
func parkPolls() bool { return false }
