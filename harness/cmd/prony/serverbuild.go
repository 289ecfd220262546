package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// servers are the queued binaries of scenarios: the one that was found, and those built for
// topologies with a build block. close removes the built ones.
type servers struct {
	found    string
	built    map[string]string // by keyOf
	builders []*builder
}

// builtServers finds the server, and builds those that topologies request. It does not look for a
// server if all servers already run or are built.
func builtServers(ctx context.Context, scenarios []*scenario.Scenario, stderr io.Writer) (_ *servers, err error) {
	all := &servers{built: map[string]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, all.close(ctx))
		}
	}()
	for _, s := range scenarios {
		for _, p := range s.Plan() {
			switch {
			case p.Topology.Build != nil:
				if err := all.build(ctx, *p.Topology.Build, stderr); err != nil {
					return nil, err
				}
			case all.found == "" && !p.Topology.Attached():
				if all.found, err = topology.FindServer(); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

// keyOf returns a key that distinguishes builds.
func keyOf(b scenario.ServerBuild) string { return b.String() + " " + b.PGOSHA256 }

// build builds a server from the working tree, unless an equal one exists.
func (s *servers) build(ctx context.Context, of scenario.ServerBuild, stderr io.Writer) error {
	if s.built[keyOf(of)] != "" {
		return nil
	}
	b, err := newBuilder(ctx, strings.Join(of.Tags, ","))
	if err != nil {
		return err
	}
	s.builders = append(s.builders, b)
	from, err := b.here(ctx, fmt.Sprintf("build-%d", len(s.builders)))
	if err != nil {
		return err
	}
	from.race = of.Race
	if of.GOAMD64 != "" {
		from.env = append(from.env, "GOAMD64="+of.GOAMD64)
	}
	if of.PGO != "" {
		if from.profile, err = filepath.Abs(of.PGO); err != nil {
			return err
		}
	}
	return b.building(stderr, func() error {
		path, err := b.server(ctx, from, 0)
		if err != nil {
			return fmt.Errorf("the server, %s: %w", of, err)
		}
		s.built[keyOf(of)] = path
		return nil
	})
}

func (s *servers) of(t scenario.Topology) string {
	if t.Build != nil {
		return s.built[keyOf(*t.Build)]
	}
	return s.found
}

func (s *servers) first(of *scenario.Scenario) string { return s.of(of.Plan()[0].Topology) }

func (s *servers) close(ctx context.Context) error {
	var errs []error
	for _, b := range slices.Backward(s.builders) {
		errs = append(errs, b.close(ctx))
	}
	return errors.Join(errs...)
}
