package scenario

// Profiled returns a copy of the scenario for profiling: one timed round of each point, and one
// with profiles of CPU, locks and waits. The copy measures no references and has the same
// configuration.
func (s *Scenario) Profiled() *Scenario {
	c := *s
	c.OverrideRounds(1)
	c.ProfiledRounds = 1
	c.Captures = []Capture{
		{Kind: captureCPU},
		{Kind: captureMutex, MutexFraction: defaultMutexFraction},
		{Kind: captureBlocking, BlockRate: defaultBlockRate},
	}
	c.References = nil
	return &c
}
