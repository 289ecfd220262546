package disk

import (
	"cmp"
	"context"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/internal/quotafstest"
)

const mib = 1 << 20

// watched is a space of 1,000 MiB with marks at 200 and 100 MiB.
func watched(t *testing.T) (*quotafstest.FS, *Space) {
	t.Helper()
	fs := quotafstest.New(vfs.NewMem(), 1000*mib)
	s := WatchSpace(SpaceOptions{FS: fs, Dir: ".", Low: Mark{Set: true, Bytes: 200 * mib}, Critical: Mark{Set: true, Percent: 10}})
	t.Cleanup(s.Close)
	return fs, s
}

// settle waits until the space has read the free space.
func settle() {
	time.Sleep(2 * spacePollFar)
	synctest.Wait()
}

func TestSpaceRefusesBelowItsMarksAndResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, s := watched(t)
		require.Equal(t, SpaceOK, s.State())
		for _, step := range []struct {
			freeMiB         uint64
			want            SpaceState
			growth, changes bool // refused
		}{
			{210, SpaceOK, false, false},
			{199, SpaceLow, true, false},
			{219, SpaceLow, true, false}, // above the mark, but not by a tenth
			{221, SpaceOK, false, false},
			{99, SpaceCritical, true, true},
			{109, SpaceCritical, true, true},
			{111, SpaceLow, true, false},
			{49, SpaceExhausted, true, true},
			{56, SpaceCritical, true, true},
			{0, SpaceExhausted, true, true},
			{500, SpaceOK, false, false},
		} {
			fs.LeaveFree(step.freeMiB * mib)
			settle()
			require.Equal(t, step.want, s.State(), "%d MiB free", step.freeMiB)
			require.Equal(t, step.growth, s.Growth() != nil, "%d MiB free", step.freeMiB)
			require.Equal(t, step.changes, s.Changes() != nil, "%d MiB free", step.freeMiB)
			require.Equal(t, step.freeMiB*mib, s.Usage().Free)
		}
	})
}

// Near its marks the free space is read more often.
func TestSpaceIsReadOftenNearItsMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, s := watched(t)
		fs.LeaveFree(210 * mib)
		settle()
		fs.LeaveFree(190 * mib)
		time.Sleep(spacePollNear)
		synctest.Wait()
		require.Equal(t, SpaceLow, s.State())
	})
}

func TestSpaceRefusalNamesMarkSpaceAndRemedy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, s := watched(t)
		fs.LeaveFree(150 * mib)
		settle()
		require.EqualError(t, s.Growth(), "disk: the file system of the data folder has 150.0 MiB available, below the mark of 200.0 MiB (--disk-low): "+
			"what would grow the store is refused: complete, cancel or purge tasks, or free space on the file system or enlarge it; service resumes by itself")
		fs.LeaveFree(90 * mib)
		settle()
		require.EqualError(t, s.Changes(), "disk: the file system of the data folder has 90.0 MiB available, below the mark of 100.0 MiB (--disk-critical): "+
			"all changes are refused: free space on the file system or enlarge it; service resumes by itself")
		s.CountRefusals(s.Changes(), 3)
		s.CountRefusals(syscall.ENOSPC, 3)
		low, critical := s.Refusals()
		assert.Zero(t, low)
		assert.EqualValues(t, 3, critical)
	})
}

// user is a store with a given number of bytes in memory.
type user struct {
	unflushed atomic.Uint64
	reclaimed atomic.Int64
	room      atomic.Uint64 // of the last Reclaim
	files     *Files        // nil for none
}

func (u *user) Unflushed() uint64 { return u.unflushed.Load() }

func (u *user) Files() *Files {
	return cmp.Or(u.files, &Files{failStop: newFailStopFS(vfs.NewMem(), "store", NewLog(nil, nil))})
}

func (u *user) Reclaim(_ context.Context, room uint64) error {
	u.reclaimed.Add(1)
	u.room.Store(room)
	return nil
}

func TestSpaceCountsWhatIsStillToBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, s := watched(t)
		u := &user{}
		s.Join(u)
		fs.LeaveFree(300 * mib)
		settle()
		require.Equal(t, SpaceOK, s.State())
		u.unflushed.Store(120 * mib)
		settle()
		require.Equal(t, SpaceLow, s.State())
		require.EqualValues(t, 180*mib, s.Usage().Available)
		time.Sleep(2 * reclaimEvery)
		synctest.Wait()
		require.NotZero(t, u.reclaimed.Load(), "a store reclaims space while it is low")
		s.Leave(u)
		settle()
		require.Equal(t, SpaceOK, s.State())
		n := u.reclaimed.Load()
		time.Sleep(2 * reclaimEvery)
		require.Equal(t, n, u.reclaimed.Load())
	})
}

func TestFloorRefusesForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, s := watched(t)
		s.Floor(SpaceCritical, "most nodes have too little disk space: n2 critical, n3 critical")
		require.Equal(t, SpaceCritical, s.State())
		require.Equal(t, SpaceOK, s.Own())
		require.ErrorContains(t, s.Changes(), "most nodes have too little disk space: n2 critical")
		fs.LeaveFree(150 * mib)
		settle()
		s.Floor(SpaceOK, "")
		require.Equal(t, SpaceLow, s.State())
		require.ErrorContains(t, s.Growth(), "--disk-low")
	})
}

func TestNoSpaceRefusesNothing(t *testing.T) {
	var s *Space
	require.NoError(t, s.Growth())
	require.NoError(t, s.Changes())
	require.Equal(t, SpaceOK, s.State())
	fs := vfs.NewMem()
	require.Equal(t, vfs.FS(fs), s.Files(fs))
	// A file system that does not report its free space.
	unknown := WatchSpace(SpaceOptions{FS: fs, Dir: "."})
	require.NoError(t, unknown.Growth())
	unknown.Close()
}

func TestMarksOff(t *testing.T) {
	off := Mark{Set: true}
	low, critical := Marks(off, off, 1000)
	assert.Zero(t, low)
	assert.Zero(t, critical)
	low, critical = Marks(off, Mark{}, 1000)
	assert.Zero(t, low+critical)
	low, critical = Marks(off, Mark{Set: true, Bytes: 20}, 1000)
	assert.Zero(t, low)
	assert.EqualValues(t, 20, critical, "it applies without a low mark")
	low, critical = Marks(Mark{}, Mark{}, 100<<30)
	assert.EqualValues(t, 4<<30, low)
	assert.EqualValues(t, 2<<30, critical)
	low, critical = Marks(Mark{}, Mark{}, 1000*mib)
	assert.EqualValues(t, 50*mib, low)
	assert.EqualValues(t, 25*mib, critical)
	low, critical = Marks(Mark{Set: true, Bytes: 10}, Mark{Set: true, Bytes: 20}, 1000)
	assert.EqualValues(t, 10, low)
	assert.EqualValues(t, 10, critical, "it is never above the low mark")
}

// A state follows the marks: it is at least as severe as the marks require, and at most as severe
// as marks that are a tenth higher would require.
func TestJudgeIsBoundByTheMarks(t *testing.T) {
	plain := func(u SpaceUsage) SpaceState { return judge(SpaceOK, &u) }
	rapid.Check(t, func(t *rapid.T) {
		u := SpaceUsage{Low: rapid.Uint64Range(0, 1000).Draw(t, "low")}
		u.Critical = rapid.Uint64Range(0, u.Low).Draw(t, "critical")
		state := SpaceOK
		for range rapid.IntRange(1, 20).Draw(t, "looks") {
			u.Available = rapid.Uint64Range(0, 1500).Draw(t, "available")
			state = judge(state, &u)
			require.GreaterOrEqual(t, state, plain(u))
			strict := u
			strict.Low, strict.Critical = u.Low+u.Low/hysteresis, u.Critical+u.Critical/hysteresis
			require.LessOrEqual(t, state, plain(strict))
		}
	})
}

// A write that finds the disk full is retried once there is room: first by removing the ballast,
// then when someone frees space.
func TestAWriteToAFullDiskWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, s := watched(t)
		require.EqualValues(t, ballastDefault, fs.Used(), "the ballast occupies its space")
		f, err := s.Files(fs).Create("f", vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		fs.LeaveFree(0)
		_, err = f.Write(make([]byte, mib)) // the ballast is removed
		require.NoError(t, err)
		require.EqualValues(t, mib, fs.Used())
		settle()
		require.Equal(t, SpaceCritical, s.State())
		fs.LeaveFree(0)
		settle()
		wrote := make(chan error, 1)
		go func() {
			_, err := f.Write(make([]byte, mib))
			wrote <- err
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, wrote, "the disk has no room")
		require.GreaterOrEqual(t, s.State(), SpaceCritical)
		fs.LeaveFree(500 * mib)
		require.NoError(t, <-wrote)
		settle()
		require.Equal(t, SpaceOK, s.State())
		require.EqualValues(t, 2*mib+ballastDefault, fs.Used(), "the ballast was created again")
		require.NoError(t, f.Close())
	})
}

// The free bytes of a file system do not reflect a disk quota; only writes do.
func TestAWriteBeyondADiskQuotaWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, s := watched(t)
		f, err := s.Files(fs).Create("f", vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		require.EqualValues(t, ballastDefault, fs.Used())
		fs.Limit(ballastDefault + mib/2)
		_, err = f.Write(make([]byte, mib))
		require.NoError(t, err, "the ballast makes room")
		require.EqualValues(t, mib, fs.Used())
		settle()
		require.Equal(t, SpaceOK, s.State())
		fs.Limit(fs.Used())
		wrote := make(chan error, 1)
		go func() {
			_, err := f.Write(make([]byte, mib))
			wrote <- err
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, wrote, "the quota leaves no room")
		require.Equal(t, SpaceCritical, s.State())
		require.ErrorContains(t, s.Changes(), "a disk quota is used up")
		fs.Limit(500 * mib)
		require.NoError(t, <-wrote)
		settle()
		require.Equal(t, SpaceOK, s.State())
		require.EqualValues(t, 2*mib+ballastDefault, fs.Used(), "the ballast was created again, and the trial file was removed")
		require.NoError(t, f.Close())
	})
}

func TestAWriteBeyondADiskQuotaEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, s := watched(t)
		f, err := s.Files(fs).Create("f", vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		s.BoundWaits(10 * time.Second)
		fs.Limit(1)
		began := time.Now()
		_, err = f.Write(make([]byte, mib))
		require.ErrorContains(t, err, syscall.EDQUOT.Error())
		require.GreaterOrEqual(t, time.Since(began), 10*time.Second)
		require.Less(t, time.Since(began), 11*time.Second)
		require.NoError(t, f.Close())
	})
}

func TestAWriteToAFullDiskEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, s := watched(t)
		f, err := s.Files(fs).Create("f", vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		s.BoundWaits(10 * time.Second)
		fs.Occupy(2000 * mib)
		began := time.Now()
		_, err = f.Write(make([]byte, mib))
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.Less(t, time.Since(began), 11*time.Second)
		s.BoundWaits(0)
		wrote := make(chan error, 1)
		go func() {
			_, err := f.Write(make([]byte, mib))
			wrote <- err
		}()
		synctest.Wait()
		s.Close()
		require.ErrorIs(t, <-wrote, syscall.ENOSPC)
		require.NoError(t, f.Close())
	})
}

// The ballast has the requested size, but at most that of the critical mark, even if an earlier
// server created one of another size.
func TestTheBallastHasTheSizeThatStoresNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, s := watched(t)
		require.EqualValues(t, ballastDefault, s.Ballast())
		s.Close()
		for _, c := range []struct{ asked, want uint64 }{{80 * mib, 80 * mib}, {300 * mib, 100 * mib}, {10 * mib, 10 * mib}} {
			o := s.o
			o.Ballast = c.asked
			again := WatchSpace(o)
			require.EqualValues(t, c.want, again.Ballast())
			require.EqualValues(t, c.want, fs.Used())
			again.Close()
		}
		var none *Space
		require.Zero(t, none.Ballast())
	})
}

// The stores reclaim space according to a new reading, because the previous one may be outdated.
func TestStoresReclaimByANewReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, s := watched(t)
		u := &user{}
		s.Join(u)
		defer s.Leave(u)
		fs.LeaveFree(150 * mib)
		settle()
		fs.LeaveFree(0)
		s.reclaim()
		require.Zero(t, u.room.Load())
	})
}

// A server that starts on a full disk removes the ballast before it needs the space.
func TestTheBallastGoesWhenAFullDiskIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, s := watched(t)
		s.Close()
		fs.LeaveFree(0)
		again := WatchSpace(s.o)
		defer again.Close()
		require.Zero(t, fs.Used())
		require.EqualValues(t, ballastDefault, again.Usage().Free)
		require.Equal(t, SpaceCritical, again.State())
	})
}
