package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestBlobsAreNamedByContent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	b, err := openBlobs(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	const content = "../../etc/passwd\x00"
	want := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	for range 2 {
		if got, err := b.put(content); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != want {
		t.Fatalf("%v, %v", entries, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, want)); err != nil || string(got) != content {
		t.Errorf("%q, %v", got, err)
	}
}

func TestBlobsAreLimited(t *testing.T) {
	b, err := openBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if _, err := b.put(""); !errors.Is(err, errEmpty) {
		t.Error(err)
	}
	if _, err := b.put(strings.Repeat("a", maxBlob+1)); !errors.Is(err, errBig) {
		t.Error(err)
	}
	stored, err := b.put(strings.Repeat("a", maxBlob))
	if err != nil {
		t.Fatal(err)
	}
	b.used = maxStore - 1
	if _, err := b.put("ab"); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if again, err := b.put(strings.Repeat("a", maxBlob)); err != nil || again != stored {
		t.Errorf("%q, %v", again, err)
	}
}

func TestBlobsCountWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := openBlobs(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if b.used != 5 {
		t.Errorf("used %d", b.used)
	}
}

func TestTemporaryBlobsGoAway(t *testing.T) {
	b, err := openBlobs("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.put("x"); err != nil {
		t.Fatal(err)
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b.dir); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestBlobsUnderConcurrentUse(t *testing.T) {
	b, err := openBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := b.put(strings.Repeat("x", i%4+1)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if b.used != 1+2+3+4 {
		t.Errorf("used %d", b.used)
	}
}
