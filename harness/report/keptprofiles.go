package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

const (
	// profilesDir is the subfolder of a run with its profiles.
	profilesDir = "profiles"
	// profilesBytesMax is the maximum total size of the profiles that are published with one run.
	profilesBytesMax = 4 << 20
)

// keptProfiles maps the stored profiles of a run to their links, relative to the page.
type keptProfiles map[string]string // links by file name

// findProfiles finds the profiles of the run in the folder in, for a page in the folder out.
func findProfiles(r *result.Result, in, out string) (keptProfiles, error) {
	if len(r.Profiles) == 0 {
		return nil, nil
	}
	// Relative to a published page, even if the page is rendered elsewhere.
	folder := path.Join("..", dataDir, filepath.Base(in))
	if filepath.Base(filepath.Dir(in)) != dataDir {
		var err error
		if folder, err = relative(out, in); err != nil {
			return nil, err
		}
	}
	kept := keptProfiles{}
	for _, p := range r.Profiles {
		switch _, err := os.Stat(filepath.Join(in, p.File)); {
		case err == nil:
			kept[p.File] = path.Join(folder, p.File)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("look for a profile: %w", err)
		}
	}
	return kept, nil
}

// relative returns the path of a folder relative to another, with slashes.
func relative(from, to string) (string, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	if to, err = filepath.Abs(to); err != nil {
		return "", err
	}
	between, err := filepath.Rel(from, to)
	return filepath.ToSlash(between), err
}

// link names the file of a profile. If the file is kept, it adds a link and the command that shows
// it.
func (k keptProfiles) link(p result.Profile) string {
	to := k[p.File]
	if to == "" {
		return doc.Code(p.File) + " of the run's folder (not published)"
	}
	command := "prony profile open --kind " + p.Kind
	if p.Point > 0 {
		command += fmt.Sprintf(" --point %d", p.Point)
	}
	if p.Node != "" {
		command += " --node " + p.Node
	}
	return fmt.Sprintf("[%s](%s); %s shows it, with the folder of this page's data", doc.Code(p.File), to, doc.Code(command+" FOLDER"))
}

// publishProfiles replaces the profiles in the data folder by those of the run in the folder run,
// in their order, up to profilesBytesMax.
func publishProfiles(r *result.Result, run, data string) error {
	if err := os.RemoveAll(filepath.Join(data, profilesDir)); err != nil {
		return err
	}
	left := int64(profilesBytesMax)
	for _, p := range r.Profiles {
		if !filepath.IsLocal(p.File) || !strings.HasPrefix(p.File, profilesDir+"/") {
			return fmt.Errorf("the profile %s is not below %s/: the run's folder was changed by hand", p.File, profilesDir)
		}
		info, err := os.Stat(filepath.Join(run, p.File))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the run was trimmed, and its page reports the missing profile
		}
		if err != nil {
			return err
		}
		if left -= info.Size(); left < 0 {
			return nil
		}
		if err := copyFiles(run, data, []string{p.File}); err != nil {
			return err
		}
	}
	return nil
}
