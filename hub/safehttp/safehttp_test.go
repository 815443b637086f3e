package safehttp_test

import "time"

// patience is how long a test waits for what never comes.
const patience = 300 * time.Millisecond
