package generator

import (
	"context"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/proc/dialogue"
	"github.com/pronybench/prony/harness/profile"
)

const (
	// profileMax bounds the wait for one answer to a profile request. The generator may have to run
	// a garbage collection before it answers.
	profileMax = 20 * time.Second
	// profileBytesMax bounds the size of a packed profile, which the answer contains as base64.
	profileBytesMax = dialogue.LineBytesMax / 2
)

// profileDone is the answer to the command profile.
type profileDone struct {
	Profile []byte `json:"profile,omitempty"`
}

// Profile sends a request for a profile of the generator. It can be used as a profile.Remote. It
// must not be called during a slice, because a generator executes one command at a time.
func (p *Process) Profile(ctx context.Context, ask profile.Request) ([]byte, error) {
	var done profileDone
	err := p.call(ctx, profileMax, "profile", ask, &done)
	return done.Profile, err
}

func (s *session) profile(ctx context.Context, ask profile.Request) (done profileDone, err error) {
	done.Profile, err = s.self.Answer(ctx, ask)
	if n := len(done.Profile); n > profileBytesMax {
		return profileDone{}, fmt.Errorf("the profile has %d bytes; an answer has at most %d", n, profileBytesMax)
	}
	return done, err
}
