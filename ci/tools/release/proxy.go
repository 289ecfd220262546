package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
)

// writeProxy writes the tagged modules of a version into a folder, in the layout of a module proxy.
func writeProxy(repo, version, folder string) error {
	for _, s := range siblings {
		path, err := module.EscapePath(s.path)
		if err != nil {
			return err
		}
		to := filepath.Join(folder, filepath.FromSlash(path), "@v")
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		commit := "refs/tags/" + s.tag(version) + "^{commit}"
		at, err := git(repo, "log", "-1", "--format=%cI", commit)
		if err != nil {
			return fmt.Errorf("find the tag %s: %w", s.tag(version), err)
		}
		when, err := time.Parse(time.RFC3339, strings.TrimSpace(string(at)))
		if err != nil {
			return err
		}
		info, err := json.Marshal(struct {
			Version string
			Time    time.Time
		}{version, when.UTC()})
		if err != nil {
			return err
		}
		mod, err := git(repo, "show", commit+":"+s.folder+"/go.mod")
		if err != nil {
			return err
		}
		for name, text := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod} {
			if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
				return err
			}
		}
		if err := writeZip(filepath.Join(to, version+".zip"), repo, commit, s, version); err != nil {
			return fmt.Errorf("make the zip file of %s: %w", s.path, err)
		}
	}
	return nil
}
