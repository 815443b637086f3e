package config

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"beckon/hub"
)

// maxSecret bounds a secret file, in bytes.
const maxSecret = 64 << 10

// readSecret resolves a reference, env:NAME or file:/path; env is
// [os.LookupEnv] outside of tests. White space around the value is not part of
// it. An empty value is an error, and so is anything that is not a reference:
// no error holds what was given instead, for it may be the secret itself.
func readSecret(ref string, env func(string) (string, bool)) (hub.Secret, error) {
	scheme, name, _ := strings.Cut(ref, ":")
	var value string
	switch {
	case scheme == "env" && name != "":
		v, ok := env(name)
		if !ok {
			return hub.Secret{}, fmt.Errorf("environment variable %s is not set", name)
		}
		value = v
	case scheme == "file" && filepath.IsAbs(name):
		v, err := readSecretFile(name)
		if err != nil {
			return hub.Secret{}, err
		}
		value = v
	case scheme == "file":
		return hub.Secret{}, errors.New("file: takes an absolute path, such as file:/etc/beckon/key")
	default:
		return hub.Secret{}, errors.New("must be env:NAME or file:/path, not the secret itself")
	}
	value = strings.TrimSpace(value)
	if value == "" {
		return hub.Secret{}, fmt.Errorf("%s is empty", ref)
	}
	return hub.NewSecret(value), nil
}

func readSecretFile(path string) (string, error) {
	f, err := openFile(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return "", err
	} else if info.IsDir() {
		return "", fmt.Errorf("read %s: is a directory", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxSecret {
		return "", fmt.Errorf("read %s: more than %d bytes", path, maxSecret)
	}
	return string(b), nil
}
