package email

import (
	"context"
	"errors"
	"net"
	"strings"

	"beckon/channels/email/inbound"
	"beckon/channels/email/mailbox"
	"beckon/hub"
)

// receiveBy sets up the ways that mail comes in by, and who the hub is to them.
func (c *Channel) receiveBy() error {
	own := []string{c.own.address()}
	if c.own.reply != c.own.domain {
		own = append(own, c.own.local+"@"+c.own.reply)
	}
	c.reader = &inbound.Reader{
		Addresses: own, Instance: c.own.instance, Policy: inbound.Policy(c.conf.Policy),
		AuthservID: c.conf.AuthservID, Unnamed: c.conf.AuthservNone, LookupTXT: net.DefaultResolver.LookupTXT,
	}
	if o := c.conf.OAuth; o != nil {
		var err error
		if c.tokens, err = mailbox.NewTokenSource(c.tokenConfig(o)); err != nil {
			return err
		}
		c.out.tokens = c.tokens
	}
	return errors.Join(c.readMailbox(), c.listen())
}

// refreshKey is where a refresh token is kept that the provider gave for the one
// in the config.
const refreshKey = "oauth refresh token"

func (c *Channel) tokenConfig(o *oauthSection) mailbox.TokenConfig {
	t := mailbox.TokenConfig{
		URL: o.TokenURL, ClientID: o.ClientID, ClientSecret: o.ClientSecret.Reveal(),
		RefreshToken: o.RefreshToken.Reveal(), Scopes: strings.Fields(o.Scope),
	}
	state := c.desk.State()
	t.Load = func(ctx context.Context) (string, error) {
		value, err := state.GetState(ctx, Name, refreshKey)
		if errors.Is(err, hub.ErrUnsupported) { // a check, without a database
			return "", nil
		}
		return value, err
	}
	t.Save = func(ctx context.Context, value string) error {
		err := state.PutState(ctx, Name, refreshKey, value)
		if errors.Is(err, hub.ErrUnsupported) {
			return nil
		}
		return err
	}
	return t
}
