package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"beckon/config"
	"beckon/hub"
)

func TestKeyFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "beckon.key")
	first, created, err := config.KeyFile(name)
	if err != nil || !created || len(first) != 1 || len(first[0]) != hub.MinKeyBytes {
		t.Fatalf("created %v, %d keys, %v", created, len(first), err)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	again, created, err := config.KeyFile(name)
	if err != nil || created || string(again[0]) != string(first[0]) {
		t.Errorf("read again: created %v, same %v, %v", created, err == nil && string(again[0]) == string(first[0]), err)
	}
	other, _, err := config.KeyFile(name + ".2")
	if err != nil || string(other[0]) == string(first[0]) {
		t.Errorf("another key file: %v, or the same key", err)
	}

	tests := []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"others may read it", key, 0o644, "can be read by others (mode 0644); run: chmod 600"},
		{"others may write it", key, 0o602, "can be read by others"},
		{"the group may read it", key, 0o640, ""},
		{"empty", "", 0o600, "is empty"},
		{"short", "MDEyMzQ1Njc4OWFiY2RlZg==", 0o600, "holds 16 bytes, a key has at least 32"},
		{"no base64", "correct horse battery staple, and more of it", 0o600, "does not hold base64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "key")
			write(t, file, tt.text, tt.mode)
			_, created, err := config.KeyFile(file)
			if created || tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("created %v, err %v, want %q", created, err, tt.want)
			}
			if err != nil && tt.text != "" && strings.Contains(err.Error(), tt.text) {
				t.Errorf("the key is in the error: %v", err)
			}
			if after, _ := os.ReadFile(file); string(after) != tt.text {
				t.Error("the file was changed")
			}
			_, _, err = load("beckon.yaml", "keys: ['file:"+file+"']\nroutes: [{}]\n")
			if (err == nil) != (tt.want == "") {
				t.Errorf("in keys: err %v, want %q", err, tt.want)
			}
		})
	}
	if _, created, err := config.KeyFile(filepath.Join(t.TempDir(), "none", "key")); err == nil || created {
		t.Error("made a key file in a folder that does not exist")
	}
}
