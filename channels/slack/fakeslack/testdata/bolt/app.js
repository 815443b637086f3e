// A small app on Slack's own library: it posts a question, opens a modal on a
// click, objects to a short answer, takes a longer one, updates the question,
// answers in the thread, a command and the Home tab. One line a happening goes
// to stdout. The test starts it twice: over Socket Mode and over HTTP.
'use strict';

const { App, LogLevel } = require('@slack/bolt');

const { SLACK_API_URL, BOT_TOKEN, APP_TOKEN, SIGNING_SECRET, CHANNEL, TRANSPORT } = process.env;
const socket = TRANSPORT === 'socket';

const app = new App({
  token: BOT_TOKEN,
  appToken: APP_TOKEN,
  signingSecret: SIGNING_SECRET,
  socketMode: socket,
  logLevel: LogLevel.ERROR,
  clientOptions: { slackApiUrl: SLACK_API_URL },
});

const say = (...words) => process.stdout.write(`${words.join(' ')}\n`);
const plain = (text) => ({ type: 'plain_text', text });
let question;

const blocks = () => [
  { type: 'section', block_id: 'q', text: { type: 'mrkdwn', text: '*Deploy api v42?*' } },
  {
    type: 'actions',
    block_id: 'act',
    elements: [
      { type: 'button', action_id: 'answer', text: plain('Approve'), style: 'primary', value: 'approve' },
      { type: 'static_select', action_id: 'pick', options: [{ text: plain('Blue'), value: 'blue' }] },
    ],
  },
];

const form = (metadata) => ({
  type: 'modal',
  callback_id: 'form',
  private_metadata: metadata,
  notify_on_close: true,
  title: plain('Answer'),
  submit: plain('Send'),
  close: plain('Cancel'),
  blocks: [
    { type: 'input', block_id: 'why', label: plain('Why?'), element: { type: 'plain_text_input', action_id: 'txt' } },
    {
      type: 'input',
      block_id: 'when',
      optional: true,
      label: plain('When?'),
      element: { type: 'datetimepicker', action_id: 'dt' },
    },
  ],
});

app.action('answer', async ({ ack, body, client, action }) => {
  await ack();
  say('click', body.user.id, action.value);
  await client.views.open({ trigger_id: body.trigger_id, view: form(body.message.ts) });
});

app.action('pick', async ({ ack, action, body, respond }) => {
  await ack();
  say('pick', action.selected_option.value, body.state.values.act.pick.selected_option.value);
  await respond({ text: 'Blue it is.', replace_original: false });
});

app.view('form', async ({ ack, view, body, client }) => {
  const why = view.state.values.why.txt.value;
  if (why.length < 5) {
    await ack({ response_action: 'errors', errors: { why: 'Say more.' } });
    say('objected');
    return;
  }
  await ack();
  say('submitted', why);
  const ts = view.private_metadata;
  await client.chat.update({ channel: CHANNEL, ts, text: `Approved by <@${body.user.id}>`, blocks: [blocks()[0]] });
  await client.chat.postMessage({ channel: CHANNEL, thread_ts: ts, text: 'Recorded' });
});

app.view({ callback_id: 'form', type: 'view_closed' }, async ({ ack }) => {
  await ack();
  say('closed');
});

app.command('/beckon', async ({ ack, command }) => {
  say('command', command.text);
  await ack({ text: 'Nothing waits for you.', response_type: 'ephemeral' });
});

app.message(async ({ message }) => {
  if (message.subtype) return; // our own updates
  say('message', message.channel_type, message.thread_ts === question ? 'in-thread' : 'elsewhere', message.text);
});

app.event('app_home_opened', async ({ event, client }) => {
  await client.views.publish({ user_id: event.user, view: { type: 'home', blocks: [blocks()[0]] } });
  say('home', event.tab);
});

app.error(async (error) => {
  say('error', error.message);
});

(async () => {
  const server = await app.start({ port: 0, host: '127.0.0.1' });
  say('listening', socket ? 'socket' : server.address().port);
  process.stdin.once('data', async () => {
    const posted = await app.client.chat.postMessage({ channel: CHANNEL, text: 'Deploy api v42?', blocks: blocks() });
    question = posted.ts;
    say('posted', posted.ts);
  });
  process.stdin.once('end', () => process.exit(0));
})().catch((error) => {
  say('error', error.stack);
  process.exit(1);
});
