package email

// listen makes the part that a mail server hands answers to.
func (c *Channel) listen() error { return nil }
