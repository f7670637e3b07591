package serve

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
)

// Logger returns a log on w, coloured where [Colourful] says so.
func Logger(w io.Writer, env Env, debug bool) *slog.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{
		Level:      level,
		TimeFormat: time.TimeOnly,
		NoColor:    !Colourful(w, env),
	}))
}

// Colourful reports whether w is a terminal and the environment does not ask for NO_COLOR.
func Colourful(w io.Writer, env Env) bool {
	f, ok := w.(*os.File)
	if noColour, _ := env.LookupEnv("NO_COLOR"); !ok || noColour != "" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
