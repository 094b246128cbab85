package demo

// Keep puts a message in as if it had been mailed.
func (c *Catcher) Keep(m Mail) { c.keep(m) }
