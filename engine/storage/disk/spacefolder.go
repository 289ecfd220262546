package disk

import "time"

// lookEvery is the interval between checks whether the data folder and the files of the stores
// exist.
const lookEvery = 250 * time.Millisecond

// lookForData ends the process if the data folder or a file of a store is missing, because the next
// start would not find the data that is written from now on.
func (s *Space) lookForData() {
	if s.loss.err() != nil {
		return // the process is ending
	}
	if err := s.missing(); err != nil {
		s.loss.record(err)
		s.end(err)
	}
}

func (s *Space) missing() error {
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

// CheckPresent ends the process if the data folder or a store was lost. Callers must call it before
// they acknowledge a commit, because the folder may be lost after the commit.
func (s *Space) CheckPresent() error {
	if s == nil {
		return nil
	}
	err := s.loss.err()
	if err != nil {
		s.end(err)
	}
	return err
}

func (s *Space) end(reason error) { NewLog(s.o.Log, s.o.Fatal).Gone(reason.Error()) }
