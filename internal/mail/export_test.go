package mail

import "time"

// Age makes the idle connections look unused for that long.
func Age(p *Pool, by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.idle {
		s.lastUsed = s.lastUsed.Add(-by)
	}
}
