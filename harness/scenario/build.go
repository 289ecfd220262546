package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// ServerBuild defines how the server under test is built from the source tree.
type ServerBuild struct {
	Tags []string `json:"tags,omitempty"`
	Race bool     `json:"race"` // with the race detector
	// PGO is the path of the CPU profile for profile-guided optimisation of the server, or "" for
	// none. It is relative to the working directory unless the scenario's file has an absolute
	// path.
	PGO string `json:"pgo,omitempty"`
	// PGOSHA256 is the hash of the profile's content when the scenario was read, in hexadecimal.
	PGOSHA256 string `json:"pgo_sha256,omitempty"`
	GOAMD64   string `json:"goamd64,omitempty"` // "v1" to "v4"; "" for the go command's default
}

const (
	buildTagsMax    = 8
	profileBytesMax = 16 << 20
)

var goamd64Levels = []string{"v1", "v2", "v3", "v4"}

var buildTag = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]{0,63}$`)

var buildTable = table[ServerBuild]{
	{
		name: "tags", label: "server's build tags", shownDefault: "none", fixed: true, doc: fmt.Sprintf("up to %d build tags", buildTagsMax),
		read: func(b *hclfile.Block, of *ServerBuild) {
			of.Tags = b.Texts("tags", hclfile.NamesSpec{Max: buildTagsMax, Example: `["debug"]`})
		},
		value: func(of *ServerBuild) string { return strings.Join(of.Tags, ",") },
	},
	boolean(func(of *ServerBuild) *bool { return &of.Race }, attribute[ServerBuild]{
		name: "race", label: "server's race detector", value: func(of *ServerBuild) string { return strconv.FormatBool(of.Race) },
		doc: "{}: with the race detector, which needs a C compiler and makes the server several times slower",
	}),
	{
		name: "pgo", label: "server's profile for optimisation", shownDefault: "none", fixed: true,
		doc:   "the path of a CPU profile, relative to the file that contains the attribute: the server is built with profile-guided optimisation. The configuration depends on the profile's content, not on its path",
		read:  readPGO,
		value: func(of *ServerBuild) string { return of.PGO },
	},
	choice(func(of *ServerBuild) *string { return &of.GOAMD64 }, hclfile.ChoiceSpec{OneOf: goamd64Levels}, attribute[ServerBuild]{
		name: "goamd64", label: "server's GOAMD64", shownDefault: "the go command's default",
		doc: "`\"v1\"` to `\"v4\"`: the instructions that the compiler may use; the server does not run on a host without them",
	}),
}

var buildBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: buildTable.names()}, Example: `build { goamd64 = "v3" }`, Once: true,
}

func readServerBuild(b *hclfile.Block) *ServerBuild {
	blocks := b.Blocks("build", buildBlock)
	if len(blocks) == 0 {
		return nil
	}
	own := blocks[0]
	if len(own.Attributes()) == 0 {
		own.Problem("the build block is empty", "write "+buildBlock.Example+", or remove it")
	}
	of := &ServerBuild{}
	buildTable.read(own, of)
	for _, tag := range of.Tags {
		if !buildTag.MatchString(tag) {
			own.AttrProblem("tags", fmt.Sprintf("tags holds %.80q, which is not a build tag", tag), "a build tag consists of letters, digits, _ and .")
		}
	}
	return of
}

func readPGO(b *hclfile.Block, of *ServerBuild) {
	path, content := b.OtherFile("pgo", hclfile.FileSpec{BytesMax: profileBytesMax, Example: "default.pgo"})
	if path != "" {
		sum := sha256.Sum256(content)
		of.PGO, of.PGOSHA256 = path, hex.EncodeToString(sum[:])
	}
}

// refuseServerBuild notes a problem for a build block if Prony does not start the server from a
// binary that it could build.
func refuseServerBuild(b *hclfile.Block, why string) {
	if b.HasBlock("build") {
		b.Problem("build is not valid here: "+why, "remove it")
	}
}

// BuildProblem returns an error if the topology has a build block, for commands that do not support
// one.
func (s *Scenario) BuildProblem(command string) error {
	for _, p := range s.Plan() {
		if p.Topology.Build != nil {
			return fmt.Errorf("%s: scenario %q has a build block, which '%s' does not support: use 'prony run' or 'prony guard', or remove it", s.File, s.Name, command)
		}
	}
	return nil
}

// String writes the build in words: "built with tags a and b, the race detector, GOAMD64 v3".
func (b ServerBuild) String() string {
	var with []string
	if len(b.Tags) > 0 {
		with = append(with, "tags "+strings.Join(b.Tags, ","))
	}
	if b.Race {
		with = append(with, "the race detector")
	}
	if b.PGO != "" {
		with = append(with, "profile "+b.PGO)
	}
	if b.GOAMD64 != "" {
		with = append(with, "GOAMD64 "+b.GOAMD64)
	}
	if len(with) == 0 {
		return "built from the source tree"
	}
	return "built with " + strings.Join(with, ", ")
}
