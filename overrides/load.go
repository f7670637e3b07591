package overrides

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
)

// Load reads overrides from a file as [Parse] does. The file must be a regular one, or a
// link to one, of at most [MaxBytes]: a pipe or a device could keep a server from starting
// for ever. An error of the file system is wrapped, so that errors.Is finds fs.ErrNotExist
// in it; all errors begin with the file's name, in quotes and in printable ASCII (M3).
func Load(path string) (Overrides, error) {
	data, err := readFile(path)
	if err != nil {
		return Overrides{}, err
	}
	o, err := Parse(path, data)
	if err != nil {
		return Overrides{}, about(path, err)
	}
	return o, nil
}

// about says which file an error is about.
func about(path string, err error) error {
	return fmt.Errorf("overrides %s: %w", strconv.QuoteToASCII(path), err)
}

// errIrregular is for what is no file of bytes with an end.
var errIrregular = errors.New("not a regular file")

// readFile reads a regular file of at most [MaxBytes].
func readFile(path string) ([]byte, error) {
	// Looked at before it is opened, because opening a device can do something, and after,
	// because what is there then is what is read.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		return nil, about(path, cause(err))
	}
	data, err := readRegular(path)
	if err != nil {
		return nil, about(path, cause(err))
	}
	return data, nil
}

func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errIrregular
	case info.Size() > MaxBytes:
		return nil, tooLarge(int(min(info.Size(), 1<<31-1)))
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1)) // it may have grown
	if err == nil && len(data) > MaxBytes {
		err = tooLarge(len(data))
	}
	return data, err
}

// cause leaves out the path, which [about] says in a form fit for a terminal.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
