package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

const (
	// windowDir is the folder of a deployment that contains the account of the current window. It
	// contains windowFile and, for each workload, the latest checkpoint of its ledger, the latest
	// synced checkpoint, and the journals written since.
	windowDir     = "window"
	windowFile    = "window.json"
	windowVersion = 1

	checkpointEvery = time.Second
)

// openAccount is the content of windowFile. It describes a window whose account is not closed.
type openAccount struct {
	Version  int            `json:"version"`
	Number   int            `json:"number"`
	Accounts int            `json:"accounts"` // number of ledgers, one per workload
	Started  time.Time      `json:"started"`
	Before   observe.Counts `json:"before"` // the servers' counters before the window
	// Boot identifies the boot of the host during which the window started. Journals are complete
	// only if the host was not rebooted since.
	Boot     string `json:"boot"`
	Rebooted bool   `json:"rebooted,omitempty"` // the host was rebooted during the window
}

func (d *Deployment) windowPath() string { return d.runner.folder.File(windowDir) }

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
}

// readWindow returns the window whose account is open. found is false if no account is open.
func readWindow(dir string) (w openAccount, found bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, windowFile))
	if errors.Is(err, fs.ErrNotExist) {
		return w, false, nil
	}
	if err != nil {
		return w, false, err
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return w, false, fmt.Errorf("%s in %s is damaged: %w", windowFile, dir, err)
	}
	if w.Version != windowVersion {
		return w, false, fmt.Errorf("%s in %s has version %d, expected version %d: use the program that wrote it", windowFile, dir, w.Version, windowVersion)
	}
	return w, true, nil
}

// windowAccounts stores the ledgers of a window on disk. Once a second it starts new journals,
// replaces the checkpoints, and then removes the older journals. Files survive the death of the
// process without fsync. A crash of the host is survived only by synced files, which are the first
// and the last checkpoint of a window.
type windowAccounts struct {
	dir      string
	accounts []*ledger.Ledger
	journals []*os.File // one per account
	number   int        // number of the current journals

	quit, done chan struct{}
	err        error // the error that ended the checkpoints; read after done is closed
}

// openWindow stores the accounts of a window and starts to checkpoint them. The folder may contain
// older files of the same window.
func openWindow(dir string, w openAccount, boot func() (string, error), accounts []*ledger.Ledger) (*windowAccounts, error) {
	a := &windowAccounts{dir: dir, accounts: accounts, journals: make([]*os.File, len(accounts)), quit: make(chan struct{}), done: make(chan struct{})}
	if err := a.open(w, boot); err != nil {
		return nil, errors.Join(fmt.Errorf("store the account of the window: %w", err), a.closeJournals())
	}
	go a.keep()
	return a, nil
}

func (a *windowAccounts) open(w openAccount, boot func() (string, error)) (err error) {
	if _, found, err := readWindow(a.dir); err != nil {
		return err
	} else if !found { // the folder contains files but no window
		if err := os.RemoveAll(a.dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(a.dir, 0o755); err != nil {
		return err
	}
	for i := range a.accounts {
		journals, err := journalsOf(a.dir, i)
		if err != nil {
			return err
		}
		for _, path := range journals {
			a.number = max(a.number, journalNumber(path))
		}
	}
	if err := a.checkpoint(true); err != nil {
		return err
	}
	if w.Boot, err = boot(); err != nil {
		return err
	}
	w.Version, w.Accounts = windowVersion, len(a.accounts)
	text, err := json.MarshalIndent(w, "", "  ")
	if err != nil {
		return err
	}
	return result.WriteFile(filepath.Join(a.dir, windowFile), append(text, '\n'))
}

// keep writes checkpoints until the window is closed or a checkpoint fails.
func (a *windowAccounts) keep() {
	defer close(a.done)
	ticker := time.NewTicker(checkpointEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if a.err = a.checkpoint(false); a.err != nil {
				return
			}
		case <-a.quit:
			a.err = a.checkpoint(true)
			return
		}
	}
}

// close writes the last checkpoint and returns the first error of any checkpoint of the window.
func (a *windowAccounts) close() error {
	close(a.quit)
	<-a.done
	if err := errors.Join(a.err, a.closeJournals()); err != nil {
		return fmt.Errorf("store the account of the window: %w", err)
	}
	return nil
}

func (a *windowAccounts) closeJournals() error {
	var errs []error
	for _, j := range a.journals {
		if j != nil {
			errs = append(errs, j.Close())
		}
	}
	return errors.Join(errs...)
}

// checkpoint starts new journals and writes the checkpoints of all accounts, each one atomically.
// The new journal of an account starts before its checkpoint, so that every completion is in one of
// the two.
func (a *windowAccounts) checkpoint(synced bool) error {
	a.number++
	for i := range a.accounts {
		if err := a.checkpointOne(i, synced); err != nil {
			return err
		}
	}
	return nil
}

func (a *windowAccounts) checkpointOne(i int, synced bool) error {
	old, err := journalsOf(a.dir, i)
	if err != nil {
		return err
	}
	journal, err := os.OpenFile(filepath.Join(a.dir, fmt.Sprintf("journal-%d-%d", i, a.number)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := a.accounts[i].Journal(journal); err != nil {
		return errors.Join(err, journal.Close())
	}
	if before := a.journals[i]; before != nil {
		err = before.Close()
	}
	a.journals[i] = journal
	if err != nil {
		return err
	}
	path := checkpointPath(a.dir, i)
	if err := writeCheckpoint(path+".new", a.accounts[i], synced); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	if !synced {
		return nil
	}
	if err := os.Remove(path + ".synced"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Link(path, path+".synced")
}

func checkpointPath(dir string, account int) string {
	return filepath.Join(dir, fmt.Sprintf("ledger-%d", account))
}

func writeCheckpoint(path string, account *ledger.Ledger, synced bool) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := account.Checkpoint(file); err != nil || !synced {
		return err
	}
	return file.Sync()
}

func journalsOf(dir string, account int) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), fmt.Sprintf("journal-%d-", account)) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}

func journalNumber(path string) (number int) {
	_, _ = fmt.Sscanf(path[strings.LastIndexByte(path, '-')+1:], "%d", &number)
	return number
}

// restoreAccounts restores the ledgers of a window. If the host was rebooted since the window
// started, files that were not synced may be outdated or damaged. It then ignores the journals, and
// uses the synced checkpoint if the latest one is damaged.
func restoreAccounts(dir string, w openAccount, boot string) (accounts []*ledger.Ledger, _ error) {
	for i := range w.Accounts {
		path := checkpointPath(dir, i)
		journals, err := journalsOf(dir, i)
		if err != nil {
			return nil, err
		}
		var restored *ledger.Ledger
		if w.Boot == boot {
			restored, err = restoreAccount(path, journals...)
		} else if restored, err = restoreAccount(path); err != nil {
			restored, err = restoreAccount(path + ".synced")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		accounts = append(accounts, restored)
	}
	return accounts, nil
}

func restoreAccount(path string, journals ...string) (*ledger.Ledger, error) {
	var readers []io.Reader
	for _, path := range slices.Insert(journals, 0, path) {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // the file is only read
		readers = append(readers, file)
	}
	return ledger.Restore(readers[0], readers[1:]...)
}
