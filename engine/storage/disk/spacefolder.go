package disk

import "time"

// lookEvery is how often a server looks whether its data folder, and the files of its stores, are
// there.
const lookEvery = 250 * time.Millisecond

// lookAround ends the process once the data folder or a file of a store is gone. What is written
// from then on would be lost.
func (s *Space) lookAround() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.look(); err != nil {
			s.lose(err)
			return
		}
	}
}

// look returns a *GoneError if the data folder or a file of a store is gone.
func (s *Space) look() error {
	if _, err := s.folder.look(); err != nil {
		return err
	}
	s.using.RLock()
	defer s.using.RUnlock()
	for u := range s.users {
		if err := u.Files().Missing(); err != nil {
			return err
		}
	}
	return nil
}

// StillThere returns nil, or ends the process if the data folder or a store was found to be gone.
// It is called before anything is acknowledged, also what was committed before.
func (s *Space) StillThere() error {
	if s == nil {
		return nil
	}
	err := s.lost.Load()
	if err == nil {
		return nil
	}
	s.end(*err)
	return *err
}

func (s *Space) setLost(err error) { s.lost.CompareAndSwap(nil, &err) }

// lose ends the process. Whatever that takes, no store says of a commit that it is done.
func (s *Space) lose(err error) {
	s.setLost(err)
	s.using.RLock()
	for u := range s.users {
		u.Files().lose(err)
	}
	s.using.RUnlock()
	s.end(err)
}

func (s *Space) end(err error) { NewLog(s.o.Log, s.o.Fatal).Gone(err.Error()) }
