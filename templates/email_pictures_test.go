package templates_test

import (
	"context"
	"encoding/base64"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestMailPictures opens every mail in a browser at the widths of a phone and of
// a desk, light and dark: nothing sticks out, and every word stands out from what
// is behind it. When BECKON_SHOTS names a folder, pictures are kept there.
func TestMailPictures(t *testing.T) {
	t.Parallel()
	browser := startChrome(t)
	pages := map[string]string{}
	onDay(t, func(t *testing.T) {
		set := newMail(t)
		for name, m := range mails() {
			pages[name] = render(t, set, m).HTML
		}
		pages["hostile"] = render(t, set, askMail(hostileCard())).HTML
	})
	ctx, cancel := context.WithTimeout(browser, 5*time.Minute)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		url := "data:text/html;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(pages[name]))
		if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int64{360, 800} {
			if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 780)); err != nil {
				t.Fatal(err)
			}
			for _, scheme := range []string{"light", "dark"} {
				if width == 360 && scheme == "dark" && os.Getenv("BECKON_SHOTS") == "" {
					continue // the other three show what can go wrong
				}
				look(t, ctx, name+"-"+strconv.FormatInt(width, 10)+"-"+scheme, scheme)
			}
		}
	}
}

// faults lists what is wrong with how a page looks: what is wider than the window,
// and text with less contrast than WCAG 2.2 AA asks for (4.5:1).
const faults = `(() => {
	const out = [];
	const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
	if (over > 0) out.push(over + ' pixels too wide');
	const rgb = s => s.match(/[\d.]+/g).map(Number);
	const lum = c => { const [r, g, b] = c.map(v => (v /= 255, v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)); return .2126 * r + .7152 * g + .0722 * b; };
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; n = walk.nextNode();) {
		if (!n.data.trim() || !n.parentElement.getClientRects().length) continue;
		let behind = n.parentElement, bg;
		for (; behind; behind = behind.parentElement) {
			bg = rgb(getComputedStyle(behind).backgroundColor);
			if (bg.length === 3 || bg[3] > 0) break;
		}
		const a = lum(rgb(getComputedStyle(n.parentElement).color).slice(0, 3)), b = lum(bg.slice(0, 3));
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < 4.5) out.push(ratio.toFixed(2) + ':1 for ' + n.data.trim().slice(0, 40));
	}
	return out.join('; ');
})()`

func look(t *testing.T, ctx context.Context, name, scheme string) {
	t.Helper()
	media := chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
	if err := chromedp.Do(ctx, media); err != nil {
		t.Fatal(err)
	}
	wrong, err := chromedp.Run(ctx, chromedp.Evaluate[string](faults))
	if err != nil {
		t.Fatal(err)
	}
	if wrong != "" {
		t.Errorf("%s: %s", name, wrong)
	}
	if dir := os.Getenv("BECKON_SHOTS"); dir != "" {
		png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// startChrome starts a headless browser of its own, or skips.
func startChrome(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium, chromium-browser or google-chrome in PATH")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.WSURLReadTimeout(time.Minute),
	)
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	alloc, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) })
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}
