// Command release prepares and serves the modules of a release. ci/release and ci/dist call it.
//
//	release check VERSION               checks whether VERSION can be a release
//	release modules TREE VERSION        rewrites the go.mod and go.sum files of a checkout for the release, and stages them in git
//	release proxy REPO VERSION FOLDER   writes the tagged modules into a folder, for GOPROXY=file:///FOLDER
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// sibling is one of the repository's modules.
type sibling struct{ path, folder string }

// siblings is ordered: each module requires only modules before it.
var siblings = []sibling{
	{"github.com/pronybench/prony/engine", "engine"},
	{"github.com/pronybench/prony/harness", "harness"},
	{"github.com/pronybench/prony/harness/k6", "harness/k6"},
	{"github.com/pronybench/prony/harness/peers", "harness/peers"},
}

// tag returns the git tag that the go command resolves for a version of the module.
func (s sibling) tag(version string) string { return s.folder + "/" + version }

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	usage := errors.New("usage: release check VERSION | modules TREE VERSION | proxy REPO VERSION FOLDER")
	if len(args) < 2 {
		return usage
	}
	switch command, args := args[0], args[1:]; {
	case command == "check" && len(args) == 1:
		return check(args[0])
	case command == "modules" && len(args) == 2:
		if err := check(args[1]); err != nil {
			return err
		}
		return prepare(args[0], args[1])
	case command == "proxy" && len(args) == 3:
		if err := check(args[1]); err != nil {
			return err
		}
		return writeProxy(args[0], args[1], args[2])
	}
	return usage
}

// check returns an error if a version cannot be that of a release.
func check(version string) error {
	remedy := "write it as v1.2.3, or v1.2.3-rc.1 for a pre-release"
	switch {
	case !semver.IsValid(version) || module.CanonicalVersion(version) != version:
		return fmt.Errorf("%q is not a version: %s", version, remedy)
	case strings.Contains(version, "+"):
		return fmt.Errorf("version %s has build metadata, which the go command does not accept: %s", version, remedy)
	case module.IsPseudoVersion(version):
		return fmt.Errorf("version %s is a pseudo-version, which is for commits without a tag: %s", version, remedy)
	case semver.Compare(semver.Major(version), "v1") > 0:
		return fmt.Errorf("version %s: the module paths have no /%s, so that versions are below v2", version, semver.Major(version))
	}
	return nil
}
