package profile

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/harness/adminhttp"
)

const (
	ratesTimeout    = 5 * time.Second
	ratesBytesMax   = 4 << 10
	snapshotTimeout = 30 * time.Second
	// Limits of the size of a profile, as transferred and unpacked. A larger profile is an error: a
	// server with a bounded number of call sites does not produce one.
	profileBytesMax  = 64 << 20
	unpackedBytesMax = 512 << 20
)

// rates contains the profiling rates of a process. A nil rate remains unchanged.
type rates struct {
	mutex *int64 // argument of runtime.SetMutexProfileFraction
	block *int64 // argument of runtime.SetBlockProfileRate, in nanoseconds
}

func (r rates) any() bool { return r.mutex != nil || r.block != nil }

// Server is a process that has an admin listener of the engine.
type Server struct{ Admin adminhttp.Client }

func (s Server) setRates(ctx context.Context, wanted rates) error {
	query := url.Values{}
	if wanted.mutex != nil {
		query.Set("mutex", strconv.FormatInt(*wanted.mutex, 10))
	}
	if wanted.block != nil {
		query.Set("block", strconv.FormatInt(*wanted.block, 10))
	}
	path := "/debug/rates?" + query.Encode()
	body, err := s.Admin.Do(ctx, http.MethodPut, path, nil, ratesTimeout, ratesBytesMax)
	if err != nil {
		return fmt.Errorf("set profiling rates: %w", err)
	}
	var answer struct {
		Mutex *int64 `json:"mutex"`
		Block *int64 `json:"block"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("set profiling rates: PUT %s: %w", s.Admin.URL(path), err)
	}
	if differs(wanted.mutex, answer.Mutex) || differs(wanted.block, answer.Block) {
		return fmt.Errorf("set profiling rates: PUT %s: the process reports other rates: %.200s", s.Admin.URL(path), body)
	}
	return nil
}

func differs(wanted, inForce *int64) bool {
	return wanted != nil && (inForce == nil || *inForce != *wanted)
}

func (s Server) snapshot(ctx context.Context, k kind) (*profile.Profile, error) {
	path := "/debug/pprof/" + k.runtime
	if k.collect {
		path += "?gc=1"
	}
	return s.fetch(ctx, http.MethodGet, path)
}

func (s Server) startCPU(ctx context.Context) error {
	_, err := s.Admin.Do(ctx, http.MethodPost, "/debug/cpu/start", nil, ratesTimeout, ratesBytesMax)
	if status := (adminhttp.StatusError{}); errors.As(err, &status) && status.Code == http.StatusNotFound {
		return errNoCPUProfile
	}
	return err
}

func (s Server) stopCPU(ctx context.Context) (*profile.Profile, error) {
	return s.fetch(ctx, http.MethodPost, "/debug/cpu/stop")
}

func (s Server) fetch(ctx context.Context, method, path string) (*profile.Profile, error) {
	body, err := s.Admin.Do(ctx, method, path, nil, snapshotTimeout, profileBytesMax)
	if err != nil {
		return nil, err
	}
	p, err := parse(body, unpackedBytesMax)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, s.Admin.URL(path), err)
	}
	return p, nil
}

// parse reads a gzipped profile. The profile must have at most bytesMax bytes after unpacking.
func parse(packed []byte, bytesMax int64) (*profile.Profile, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("not a gzipped profile: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(reader, bytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("unpack profile: %w", err)
	}
	if int64(len(data)) > bytesMax {
		return nil, fmt.Errorf("the profile is larger than %d bytes", bytesMax)
	}
	if len(data) == 0 {
		return nil, errors.New("the profile is empty")
	}
	p, err := profile.ParseUncompressed(data)
	if err != nil {
		return nil, err
	}
	if err := p.CheckValid(); err != nil {
		return nil, err
	}
	return p, nil
}
