package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// server stands in for what needs a whole machine and its root: the user, the
// owner of a file, and systemd.
const server = `set -euo pipefail
useradd() { :; }
install() {
	local args=()
	while (($#)); do
		case $1 in -o | -g) shift 2 ;; *) args+=("$1"); shift ;; esac
	done
	command install "${args[@]}"
}
systemctl() {
	case $1 in
	stop | restart) kill "$hub"; wait "$hub" ;;
	esac
	case $1 in
	enable | start | restart)
		beckon serve --config /etc/beckon/beckon.yaml 2>>hub.log & hub=$!
		until curl -sf "$BECKON_URL/readyz" -o /dev/null; do sleep 0.1; done ;;
	esac
}
trap 'kill $hub' EXIT
opens() { curl -sL -c "jar$RANDOM" -o /dev/null -w '%{http_code}' "$1"; }
personal() { beckon link alice --config /etc/beckon/beckon.yaml; }
`

// TestReadmeOperations does what the README says of operations, in its order,
// and looks at the hub in between.
func TestReadmeOperations(t *testing.T) {
	dir := t.TempDir()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etc/systemd/system", "var/lib/beckon", "var/backups", "usr/local/bin", "examples"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	beckon, err := exec.LookPath("beckon")
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, beckon, filepath.Join(dir, "beckon"), nil)
	copyFile(t, filepath.Join(root, "examples", "beckon.service"), filepath.Join(dir, "examples", "beckon.service"), nil)

	place := strings.NewReplacer("/etc/", dir+"/etc/", "/var/", dir+"/var/", "/usr/local/", dir+"/usr/local/",
		"127.0.0.1:8420", "127.0.0.1:"+port, "https://beckon.example.com", "http://127.0.0.1:"+port, "behind_proxy: true", "behind_proxy: false")
	if err := os.WriteFile(filepath.Join(dir, "beckon.yaml"), []byte(place.Replace(blocks(t, "config")[0])), 0o600); err != nil {
		t.Fatal(err)
	}
	steps := blocks(t, "operate")
	if len(steps) != 5 {
		t.Fatalf("%d blocks of operations: which is which?", len(steps))
	}
	backup, restore, upgrade, rotate, retire := steps[0], steps[1], steps[2], steps[3], steps[4]
	script := strings.Join([]string{
		server, blocks(t, "install")[0], `beckon notify "Kept"; old=$(personal); echo "installed $(opens "$old")"`,
		backup, `beckon notify "Lost"`, restore, `beckon messages | cut -f6 | sed 's/^/restored /'`,
		upgrade, `beckon messages | cut -f6 | sed 's/^/upgraded /'`,
		rotate, `new=$(personal); echo "rotated $(opens "$old") $(opens "$new")"`,
		retire, `echo "retired $(opens "$old") $(opens "$new")"`,
		"systemctl stop beckon; trap - EXIT; echo over",
	}, "\n")
	p := start(t, dir, []string{
		"PATH=" + filepath.Join(dir, "usr/local/bin") + ":" + os.Getenv("PATH"), "BECKON_URL=http://127.0.0.1:" + port,
		"DEPLOYBOT_TOKEN=" + testToken, "BECKON_TOKEN=" + testToken, "BECKON_AGENT=deploybot/dev-team",
	}, place.Replace(script))
	p.wait(t)
	said := regexp.MustCompile(`(?m)^(?:installed|restored|upgraded|rotated|retired|over)\b.*$`).FindAllString(p.text(), -1)
	want := []string{"installed 200", "restored Kept", "upgraded Kept", "rotated 200 200", "retired 404 200", "over"}
	if !slices.Equal(said, want) {
		t.Errorf("got  %q\nwant %q", said, want)
	}
	for name, mode := range map[string]os.FileMode{
		"etc/beckon/key": 0o600, "etc/beckon/key.new": 0o600, "var/backups/beckon.db": 0o600, "var/lib/beckon/beckon.db": 0o600,
	} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want mode %v", name, info, err, mode)
		}
	}
}

func copyFile(t *testing.T, from, to string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		b = change(b)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestReadmeSymptoms holds that everything that the README says people may see
// is seen in one of the scripts.
func TestReadmeSymptoms(t *testing.T) {
	_, table, ok := strings.Cut(readme(t), "| what you see |")
	if !ok {
		t.Fatal("there is no table of what people may see")
	}
	var scripts strings.Builder
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "stderr ") || strings.HasPrefix(line, "until ") {
				scripts.WriteString(line)
			}
		}
	}
	rows := regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(table, -1)
	if len(rows) < 10 {
		t.Errorf("only %d rows were found", len(rows))
	}
	elsewhere := append(slackSymptoms(), mailSymptoms()...) // tests of their own show these
	for _, row := range rows {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if !strings.Contains(scripts.String(), m[1]) && !slices.Contains(elsewhere, m[1]) {
				t.Errorf("no script shows %q", m[1])
			}
		}
	}
}

// TestReadmeMetrics holds that the README explains every metric, and that it and
// the alerts name none that does not exist.
func TestReadmeMetrics(t *testing.T) {
	dir := t.TempDir()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	copyExample(t, dir, "minimal.yaml", port)
	env := []string{
		"DEPLOYBOT_TOKEN=" + testToken, "BECKON_TOKEN=" + testToken, "BECKON_AGENT=deploybot/dev-team",
		"BECKON_URL=http://127.0.0.1:" + port,
	}
	hub := start(t, dir, env, "exec beckon serve --config examples/minimal.yaml")
	hub.await(t, "msg=serving")
	// Something of everything.
	ask := start(t, dir, env, `beckon ask "Later?" --confirm --expires 1h && beckon ask "Now?" --confirm --wait 1m; BECKON_TOKEN=wrong beckon messages`)
	link := start(t, dir, env, "exec beckon link alice --config examples/minimal.yaml").await(t, `http://\S+/l/\S+`)
	if err := browse(link, "Now?", "answer", url.Values{"option": {"1"}}); err != nil {
		t.Fatal(err)
	}
	ask.await(t, "unauthenticated")
	// Nobody may write to this agent; that it was tried counts, too.
	if err := browse(link, "Later?", "tell", url.Values{"text": {"Wait."}}); !errors.Is(err, errRefused) {
		t.Fatalf("write to an agent: %v", err)
	}

	text, err := fetch(http.DefaultClient, "http://127.0.0.1:"+port+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	hub.interrupt(t)
	var are []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (beckon_\w+)`).FindAllStringSubmatch(text, -1) {
		are = append(are, m[1])
	}
	alerts, err := os.ReadFile(filepath.Join(root, "examples", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`beckon_[a-z_]+`)
	said := name.FindAllString(readme(t), -1)
	for _, n := range are {
		if !slices.Contains(said, n) {
			t.Errorf("the README says nothing of %s", n)
		}
	}
	for _, n := range append(said, name.FindAllString(string(alerts), -1)...) {
		if !slices.Contains(are, n) {
			t.Errorf("the README or the alerts name %s, which does not exist", n)
		}
	}
	for _, n := range regexp.MustCompile("(?m)^\\| `(beckon_[a-z_]+).*alert").FindAllStringSubmatch(readme(t), -1) {
		if !bytes.Contains(alerts, []byte(n[1])) {
			t.Errorf("there is no alert on %s", n[1])
		}
	}
}

// TestExampleService holds what the unit runs, and has systemd read it where
// there is one.
func TestExampleService(t *testing.T) {
	unit, err := os.ReadFile(filepath.Join(root, "examples", "beckon.service"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"ExecStart=/usr/local/bin/beckon serve --config /etc/beckon/beckon.yaml", "User=beckon", "ProtectSystem=strict",
		"NoNewPrivileges=yes", "CapabilityBoundingSet=", fmt.Sprintf("RestartPreventExitStatus=%d", exitUsage),
	} {
		if !strings.Contains(string(unit), "\n"+line+"\n") {
			t.Errorf("the unit has no line %q", line)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		return // the lines above are held anyhow
	}
	beckon, err := exec.LookPath("beckon")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "beckon.service")
	if err := os.WriteFile(file, bytes.ReplaceAll(unit, []byte("/usr/local/bin/beckon"), []byte(beckon)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput(); err != nil || strings.Contains(string(out), "beckon.service") {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}

// TestExampleProxies runs the hub behind the proxies that are installed, as the
// examples set them up.
func TestExampleProxies(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir)
	tests := []struct{ name, file, before, after, run string }{
		{
			"caddy", "Caddyfile", "{\n\tadmin off\n\tauto_https disable_redirects\n}\n", "",
			"XDG_DATA_HOME=. XDG_CONFIG_HOME=. exec caddy run --adapter caddyfile --config caddy.conf",
		},
		{
			"nginx", "nginx.conf",
			"worker_processes 1;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\nclient_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n", "}\n",
			"exec nginx -p . -c nginx.conf -g 'daemon off;'",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, "examples", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(text, []byte("127.0.0.1:8420")) {
				t.Error("it does not go to where a hub listens by default")
			}
			if _, err := exec.LookPath(tt.name); err != nil {
				return
			}
			dir := t.TempDir()
			port, err := freePort()
			if err != nil {
				t.Fatal(err)
			}
			front, err := freePort()
			if err != nil {
				t.Fatal(err)
			}
			conf := tt.before + strings.NewReplacer("127.0.0.1:8420", "127.0.0.1:"+port, "listen 443 ssl", "listen 127.0.0.1:"+front+" ssl",
				"beckon.example.com {", "https://127.0.0.1:"+front+" {\n\ttls "+cert+" "+key, "/etc/beckon/cert.pem", cert, "/etc/beckon/key.pem", key,
			).Replace(string(text)) + tt.after
			if err := os.WriteFile(filepath.Join(dir, tt.name+".conf"), []byte(conf), 0o644); err != nil {
				t.Fatal(err)
			}
			hubConf := strings.Replace(testConfig, "listen: 127.0.0.1:$PORT", "listen: 127.0.0.1:"+port+"\nbehind_proxy: true\npublic_url: https://127.0.0.1:"+front, 1)
			if err := os.WriteFile(filepath.Join(dir, "beckon.yaml"), []byte(hubConf), 0o600); err != nil {
				t.Fatal(err)
			}
			hub := start(t, dir, []string{"DEPLOYBOT_TOKEN=" + testToken, "BOSS_TOKEN=" + bossToken}, "exec beckon serve")
			hub.await(t, "msg=serving")
			proxy := start(t, dir, nil, tt.run)
			throughProxy(t, "https://127.0.0.1:"+front, cert)
			proxy.interrupt(t)
			hub.interrupt(t)
		})
	}
}

// throughProxy asks and waits by the command line, through a proxy.
func throughProxy(t *testing.T, base, cert string) {
	t.Helper()
	pool := x509.NewCertPool()
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool.AppendCertsFromPEM(text)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer c.CloseIdleConnections()
	if err := retry(func() error {
		_, err := fetch(c, base+"/readyz")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	env := []string{"SSL_CERT_FILE=" + cert, "BECKON_URL=" + base, "BECKON_TOKEN=" + testToken, "BECKON_AGENT=deploybot/dev-team"}
	p := start(t, t.TempDir(), env, `beckon ask "Through?" --confirm --wait 1s --json; beckon notify "Through" --json`)
	p.wait(t)
	if p.await(t, `still open`); !strings.Contains(p.text(), `"poll_url":"`+base+`/v1/messages/`) {
		t.Errorf("the hub's URL is another:\n%s", p.text())
	}
	// A page's answer is not held back: its head comes before its end.
	resp, err := c.Get(base + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || !bytes.Contains(b, []byte("<html")) {
		t.Errorf("the page: %s, %v", resp.Status, err)
	}
}

// selfSigned makes a certificate of this machine, and its key.
func selfSigned(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
