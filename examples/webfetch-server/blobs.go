package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

const (
	maxBlob  = 1 << 20  // bytes in one upload
	maxStore = 64 << 20 // bytes in the directory
)

var (
	errEmpty = errors.New("there is nothing to store")
	errBig   = fmt.Errorf("the content is larger than %d bytes", maxBlob)
	errFull  = errors.New("the store is full")
)

// blobs stores text in a directory under names made from the content alone,
// so that nothing a client sends becomes part of a path. Safe for concurrent
// use.
type blobs struct {
	dir       string
	temporary bool // the directory is ours and goes when we do
	root      *os.Root

	mu   sync.Mutex
	used int64
}

// openBlobs opens dir, which it creates if need be, or without a name a new
// temporary directory.
func openBlobs(dir string) (*blobs, error) {
	b := &blobs{dir: dir, temporary: dir == ""}
	var err error
	if b.temporary {
		b.dir, err = os.MkdirTemp("", name+"-")
	} else {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	if b.root, err = os.OpenRoot(b.dir); err != nil {
		return nil, errors.Join(err, b.discard())
	}
	if b.used, err = usedBytes(b.root.FS()); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func usedBytes(fsys fs.FS) (n int64, err error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return 0, err
		}
		if info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n, nil
}

// put stores content and returns its name. Storing it again changes nothing.
func (b *blobs) put(content string) (string, error) {
	switch {
	case content == "":
		return "", errEmpty
	case len(content) > maxBlob:
		return "", errBig
	}
	sum := sha256.Sum256([]byte(content))
	blob := hex.EncodeToString(sum[:])

	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.root.Lstat(blob); err == nil {
		return blob, nil
	}
	if b.used+int64(len(content)) > maxStore {
		return "", errFull
	}
	if err := b.write(blob, content); err != nil {
		return "", errors.New("the content could not be stored") // the reason names paths
	}
	b.used += int64(len(content))
	return blob, nil
}

// write makes the file appear under its name only when it is complete.
func (b *blobs) write(blob, content string) error {
	part := "part-" + rand.Text()
	f, err := b.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = b.root.Rename(part, blob)
	}
	if err != nil {
		return errors.Join(err, b.root.Remove(part))
	}
	return nil
}

// close releases the directory, and removes it if it is temporary.
func (b *blobs) close() error {
	return errors.Join(b.root.Close(), b.discard())
}

func (b *blobs) discard() error {
	if !b.temporary {
		return nil
	}
	return os.RemoveAll(b.dir)
}
