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

// CheckFailure ends the process if err shows that a file of the data folder is missing, or that the
// folder is read-only. The owner of a file in the folder must call it for a failure that stops the
// node, because the folder may be lost shortly before lookForData finds that.
func (s *Space) CheckFailure(err error) {
	if s == nil {
		return
	}
	if gone := asGone("the node failed", s.o.Dir, err); gone != nil {
		s.loss.record(gone)
		s.end(gone)
	}
}

func (s *Space) end(reason error) { NewLog(s.o.Log, s.o.Fatal).Gone(reason.Error()) }
