package slack

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"beckon/hub"

	slackgo "github.com/slack-go/slack"
	"golang.org/x/time/rate"
)

const (
	// homeEvery is how often one person's Home tab is published at most.
	homeEvery = 5 * time.Second
	// maxHomes bounds the Home tabs that are kept true: of those who opened
	// theirs, the last ones.
	maxHomes = 500
	// homesLease lets one hub of several keep them.
	homesLease     = "slack/homes"
	homesLeaseLife = 30 * time.Second
	homesLook      = 10 * time.Second
	// homeGiveUp is the wait after a refusal that only an operator can mend.
	homeGiveUp = 10 * time.Minute
	homesKey   = "homes" // of the state: who opened theirs, the last one first
)

// homes are the Home tabs that people have opened.
// https://docs.slack.dev/surfaces/app-home
type homes struct {
	owner  string
	opened chan slackActor
	pace   *rate.Limiter // views.publish is tier 4: about 100 a minute

	mu     sync.Mutex
	tabs   map[string]*homeTab
	before map[string]string // page that was turned to, by user
	keeper bool              // this hub has the lease
}

// homeTab is one person's, while it is kept true.
type homeTab struct {
	user slackActor
	kick chan struct{}
	stop context.CancelFunc
	at   time.Time // it was opened
	last time.Time // it was published
	sum  [sha256.Size]byte
}

func newHomes() *homes {
	return &homes{
		owner: rand.Text(), opened: make(chan slackActor), pace: rate.NewLimiter(rate.Every(650*time.Millisecond), 20),
		tabs: map[string]*homeTab{}, before: map[string]string{},
	}
}

// turn turns to the page before a message; "" is the first.
func (h *homes) turn(user, before string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if before == "" {
		delete(h.before, user)
	} else if len(h.before) < 10*maxHomes {
		h.before[user] = before
	}
}

func (h *homes) page(user string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.before[user]
}

func (h *homes) keeps() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.keeper
}

// opened has somebody's Home tab published, and kept true from now on.
func (in *inbound) opened(ctx context.Context, user slackActor) error {
	if user.ID == "" {
		return nil
	}
	select {
	case in.homes.opened <- user:
		return nil
	case <-ctx.Done():
		return errors.New("nothing publishes Home tabs now")
	}
}

// publishHomes keeps Home tabs true until ctx ends. It owns a goroutine for each.
func (in *inbound) publishHomes(ctx context.Context) error {
	h := in.homes
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	look := time.NewTicker(homesLook)
	defer look.Stop()
	in.takeHomes(ctx, &wg)
	for {
		select {
		case <-ctx.Done():
			h.forget()
			in.giveHomesBack(ctx)
			return nil
		case <-look.C:
			in.takeHomes(ctx, &wg)
		case user := <-h.opened:
			in.keepHome(ctx, &wg, user, true)
			if err := in.rememberHome(ctx, user.ID); err != nil && ctx.Err() == nil {
				in.log.Warn("who opened their Home tab can't be kept", "err", err)
			}
		}
	}
}

func (h *homes) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.tabs)
}

// takeHomes takes or renews the lease, and learns whose Home tabs there are.
func (in *inbound) takeHomes(ctx context.Context, wg *sync.WaitGroup) {
	got, err := in.desk.State().Lease(ctx, homesLease, in.homes.owner, time.Now(), homesLeaseLife)
	in.homes.mu.Lock()
	in.homes.keeper = got && err == nil
	in.homes.mu.Unlock()
	if err != nil || !got {
		return
	}
	users, err := in.homesOpened(ctx)
	if err != nil {
		return
	}
	for _, user := range users {
		in.keepHome(ctx, wg, slackActor{ID: user}, false)
	}
}

func (in *inbound) giveHomesBack(ctx context.Context) {
	if !in.homes.keeps() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, err := in.desk.State().Lease(ctx, homesLease, in.homes.owner, time.Now(), 0); err != nil {
		in.log.Debug("a lease was not given back; it ends by itself", "err", err)
	}
}

func (in *inbound) homesOpened(ctx context.Context) ([]string, error) {
	s, err := in.desk.State().GetState(ctx, Name, homesKey)
	if err != nil || s == "" {
		return nil, err
	}
	var users []string
	if json.Unmarshal([]byte(s), &users) != nil {
		return nil, nil
	}
	return users[:min(len(users), maxHomes)], nil
}

// rememberHome puts somebody before the others who opened theirs.
func (in *inbound) rememberHome(ctx context.Context, user string) error {
	users, err := in.homesOpened(ctx)
	if err != nil || len(users) > 0 && users[0] == user {
		return err
	}
	users = slices.DeleteFunc(users, func(u string) bool { return u == user })
	b, err := json.Marshal(append([]string{user}, users[:min(len(users), maxHomes-1)]...))
	if err != nil {
		return err
	}
	return in.desk.State().PutState(ctx, Name, homesKey, string(b))
}

// keepHome begins to keep a Home tab true, or publishes it again when it was
// opened.
func (in *inbound) keepHome(ctx context.Context, wg *sync.WaitGroup, user slackActor, opened bool) {
	h := in.homes
	h.mu.Lock()
	defer h.mu.Unlock()
	if tab := h.tabs[user.ID]; tab != nil {
		if opened {
			tab.at = time.Now()
			select {
			case tab.kick <- struct{}{}:
			default:
			}
		}
		return
	}
	if len(h.tabs) >= maxHomes {
		if !opened {
			return
		}
		h.dropOldest()
	}
	ctx, stop := context.WithCancel(ctx)
	tab := &homeTab{user: user, kick: make(chan struct{}, 1), stop: stop}
	if opened {
		tab.at = time.Now()
	}
	h.tabs[user.ID] = tab
	wg.Go(func() {
		defer stop()
		in.watchHome(ctx, tab, opened)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.tabs[user.ID] == tab {
			delete(h.tabs, user.ID)
		}
	})
}

func (h *homes) dropOldest() {
	var oldest *homeTab
	for _, tab := range h.tabs {
		if oldest == nil || tab.at.Before(oldest.at) {
			oldest = tab
		}
	}
	oldest.stop()
	delete(h.tabs, oldest.user.ID)
}

// watchHome publishes a Home tab when it is opened and when the person's list
// changes, at most once in [homeEvery].
func (in *inbound) watchHome(ctx context.Context, tab *homeTab, force bool) {
	for ctx.Err() == nil {
		who, err := in.whois(ctx, tab.user)
		changed, unwatch := in.watchList(who.Person)
		if err == nil {
			err = in.publishHome(ctx, tab, who, force)
		}
		pause := time.Duration(0)
		if err == nil {
			force = in.awaitChange(ctx, tab, changed)
		} else {
			force, pause = true, in.homePause(ctx, err)
		}
		unwatch()
		if pause = max(pause, time.Until(tab.last.Add(homeEvery))); pause > 0 && !sleep(ctx, pause) {
			return
		}
	}
}

// homePause is how long a Home tab waits after a failure.
func (in *inbound) homePause(ctx context.Context, err error) time.Duration {
	if ctx.Err() == nil {
		in.log.Warn("a Home tab can't be published now", "err", err)
	}
	e, ok := errors.AsType[*apiError](err)
	switch {
	case ok && e.Code == codeLimited:
		return max(e.After, homeEvery)
	case ok && !passing(e):
		return homeGiveUp
	}
	return homeEvery
}

// watchList watches what waits for somebody. Nothing happens to nobody's list.
func (in *inbound) watchList(who *hub.Person) (<-chan struct{}, func()) {
	if who == nil {
		return nil, func() {}
	}
	return in.desk.Watch(hub.ListTopic(who.ID))
}

// awaitChange waits until the tab was opened, which it reports, or until its
// list changed and this hub is the one that keeps Home tabs.
func (in *inbound) awaitChange(ctx context.Context, tab *homeTab, changed <-chan struct{}) (opened bool) {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tab.kick:
			return true
		case <-changed:
			if in.homes.keeps() {
				return false
			}
			changed = nil
		}
	}
}

// publishHome publishes a Home tab if it differs from what stands, or in any
// case: a person who opens it has perhaps another one before them.
func (in *inbound) publishHome(ctx context.Context, tab *homeTab, who somebody, force bool) error {
	view, err := in.homeOf(ctx, tab.user.ID, who)
	if err != nil {
		return err
	}
	args, err := viewArgs(view)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(args.Get("view")))
	if sum == tab.sum && !force {
		return nil
	}
	if err := in.homes.pace.Wait(ctx); err != nil {
		return err
	}
	args.Set("user_id", tab.user.ID)
	tab.last = time.Now()
	if err := in.c.api.call(ctx, "views.publish", args, nil); err != nil {
		return err
	}
	tab.sum = sum
	return nil
}

// homeOf lays out somebody's Home tab.
func (in *inbound) homeOf(ctx context.Context, user string, who somebody) (slackgo.HomeTabViewRequest, error) {
	if who.Person == nil {
		return slackgo.HomeTabViewRequest{
			Type: slackgo.VTHomeTab, CallbackID: actionVersion + ":home", Blocks: slackgo.Blocks{BlockSet: who.refusal.blocks},
		}, nil
	}
	before := in.homes.page(user)
	cards, more, err := in.waiting(ctx, who.Person, before, homeItems)
	if err != nil {
		return slackgo.HomeTabViewRequest{}, err
	}
	o := homeOptions{More: more, Paged: before != ""}
	if base := in.desk.Directory().PublicURL; base != "" {
		o.Link = base + "/"
	}
	return homeView(cards, o), nil
}

// waiting are the messages that somebody may answer now, the newest first, as
// they may be shown outside the hub; more reports that there are others.
func (in *inbound) waiting(ctx context.Context, who *hub.Person, before string, most int) (cards []*hub.Card, more bool, err error) {
	for {
		list, err := in.desk.List(ctx, who.ID, hub.ListQuery{Open: true, Before: before, Limit: most + 1})
		if err != nil {
			return nil, false, err
		}
		for _, c := range list {
			before = c.MessageID
			if !c.MayAnswer {
				continue
			}
			shown, err := in.card(ctx, c.MessageID, who)
			if err != nil {
				return nil, false, err
			}
			if shown == nil {
				continue
			}
			if len(cards) == most {
				return cards, true, nil
			}
			cards = append(cards, shown)
		}
		if len(list) <= most {
			return cards, false, nil
		}
	}
}
