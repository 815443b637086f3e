package fakeslack

import "time"

// Times that Slack's documentation states.
const (
	ackTimeout     = 3 * time.Second  // docs.slack.dev/interactivity/handling-user-interaction
	triggerTTL     = 3 * time.Second  // docs.slack.dev/reference/methods/views.open
	responseURLTTL = 30 * time.Minute // docs.slack.dev/interactivity/handling-user-interaction
)

// Numbers that are not sizes of what an app sends, so not in [Limits].
const (
	responseURLUses = 5         // docs.slack.dev/interactivity/handling-user-interaction
	maxSockets      = 10        // docs.slack.dev/apis/events-api/using-socket-mode
	maxAckBytes     = 20 << 10  // slack-go socketmode: larger replies are dropped without a word
	modalStack      = 3         // docs.slack.dev/surfaces/modals
	maxHistory      = 999       // docs.slack.dev/reference/methods/conversations.history
	truncateText    = 40_000    // docs.slack.dev/reference/methods/chat.postMessage: longer text is cut
	maxBody         = 1 << 20   // chosen: what the fake reads of one request
	maxViewBytes    = 250 << 10 // views.open: view_too_large
)

// Limit is one size that Slack holds what apps send to.
type Limit struct {
	Name     string // such as "button.text"
	Min, Max int    // inclusive; Unit says of what
	Unit     string // "characters", "items", "value", "bytes"
	Error    string // the error code that breaking it gives
	Source   string // where it is written, or how it was found
}

// Where the sizes come from.
const (
	srcBlocks = "https://docs.slack.dev/reference/block-kit/blocks"
	srcTypes  = "@slack/types 3.2.0, comment of the field"
	srcElem   = "https://docs.slack.dev/reference/block-kit/block-elements"
	srcObj    = "https://docs.slack.dev/reference/block-kit/composition-objects"
	srcModal  = "https://docs.slack.dev/reference/views/modal-views"
	srcPost   = "https://docs.slack.dev/reference/methods/chat.postMessage"
	srcUpdate = "https://docs.slack.dev/reference/methods/chat.update"
	srcSpec   = "nicklambourne/slackblocks spec/limits.json (third party)"
	srcChosen = "not documented; chosen here"
)

// limitID names one row of the table in code.
type limitID int

const (
	messageBlocks limitID = iota
	viewBlocks
	messageChars
	updateText
	attachmentCount
	metadataBytes
	textObject
	blockID
	actionID
	sectionText
	sectionFields
	sectionField
	headerText
	headerLevel
	actionsElements
	contextElements
	contextActions
	imageURL
	imageAlt
	imageTitle
	inputLabel
	inputHint
	markdownText
	tableRows
	tableCells
	tableColumns
	dataRows
	dataColumns
	dataPage
	dataChars
	chartTitle
	chartSeries
	chartPoints
	chartLabel
	alertText
	cardTitle
	cardBody
	cardActions
	carouselCards
	containerTitle
	containerBlocks
	buttonText
	buttonValue
	buttonURL
	buttonLabel
	buttonVisible
	confirmTitle
	confirmText
	confirmButton
	optionText
	optionValue
	optionDescription
	optionURL
	groupLabel
	groupOptions
	selectOptions
	selectGroups
	placeholder
	selectedItems
	overflowOptions
	boxOptions
	inputMin
	inputMax
	fileCount
	richLines
	richIndent
	videoTitle
	videoAuthor
	viewTitle
	viewButton
	viewMetadata
	viewCallback
	viewExternal
	limitCount
)

// limitTable is the table; it never changes.
var limitTable = [limitCount]Limit{
	messageBlocks:   {"message.blocks", 0, 50, "items", "invalid_blocks", srcBlocks},
	viewBlocks:      {"view.blocks", 0, 100, "items", "invalid_arguments", srcBlocks},
	messageChars:    {"message.characters", 0, 13_200, "characters", "msg_blocks_too_long", "measured in github.com/slackapi/bolt-js/issues/2509"},
	updateText:      {"update.text", 0, 4000, "characters", "msg_too_long", srcUpdate},
	attachmentCount: {"message.attachments", 0, 100, "items", "too_many_attachments", srcPost},
	metadataBytes:   {"message.metadata", 0, 8000, "bytes", "metadata_too_large", "the error is documented, its size is not; " + srcChosen},

	textObject:      {"text", 1, 3000, "characters", "invalid_blocks", srcTypes},
	blockID:         {"block_id", 0, 255, "characters", "invalid_blocks", srcTypes},
	actionID:        {"action_id", 0, 255, "characters", "invalid_blocks", srcElem},
	sectionText:     {"section.text", 1, 3000, "characters", "invalid_blocks", srcTypes},
	sectionFields:   {"section.fields", 1, 10, "items", "invalid_blocks", srcTypes},
	sectionField:    {"section.field", 1, 2000, "characters", "invalid_blocks", srcTypes},
	headerText:      {"header.text", 1, 150, "characters", "invalid_blocks", srcTypes},
	headerLevel:     {"header.level", 1, 4, "value", "invalid_blocks", "slack-go 0.26 changelog"},
	actionsElements: {"actions.elements", 1, 25, "items", "invalid_blocks", srcTypes},
	contextElements: {"context.elements", 1, 10, "items", "invalid_blocks", srcTypes},
	contextActions:  {"context_actions.elements", 1, 5, "items", "invalid_blocks", srcTypes},
	imageURL:        {"image.image_url", 1, 3000, "characters", "invalid_blocks", srcBlocks + "/image-block"},
	imageAlt:        {"image.alt_text", 1, 2000, "characters", "invalid_blocks", srcBlocks + "/image-block"},
	imageTitle:      {"image.title", 1, 2000, "characters", "invalid_blocks", srcBlocks + "/image-block"},
	inputLabel:      {"input.label", 1, 2000, "characters", "invalid_blocks", srcBlocks + "/input-block"},
	inputHint:       {"input.hint", 1, 2000, "characters", "invalid_blocks", srcBlocks + "/input-block"},
	markdownText:    {"markdown.text", 1, 12_000, "characters", "msg_too_long", "measured in github.com/metabase/metabase/pull/80652"},
	tableRows:       {"table.rows", 1, 100, "items", "invalid_blocks", srcBlocks + "/table-block"},
	tableCells:      {"table.cells", 1, 20, "items", "invalid_blocks", srcBlocks + "/table-block"},
	tableColumns:    {"table.column_settings", 0, 20, "items", "invalid_blocks", srcBlocks + "/table-block"},
	dataRows:        {"data_table.rows", 2, 201, "items", "invalid_blocks", srcSpec},
	dataColumns:     {"data_table.columns", 1, 20, "items", "invalid_blocks", srcSpec},
	dataPage:        {"data_table.page_size", 1, 100, "value", "invalid_blocks", srcTypes},
	dataChars:       {"data_table.content", 0, 20_000, "characters", "invalid_blocks", srcSpec},
	chartTitle:      {"data_visualization.title", 1, 50, "characters", "invalid_blocks", srcSpec},
	chartSeries:     {"data_visualization.series", 1, 12, "items", "invalid_blocks", srcSpec},
	chartPoints:     {"data_visualization.data", 1, 20, "items", "invalid_blocks", srcSpec},
	chartLabel:      {"data_visualization.label", 1, 20, "characters", "invalid_blocks", srcSpec},
	alertText:       {"alert.text", 1, 200, "characters", "invalid_blocks", srcTypes},
	cardTitle:       {"card.title", 1, 150, "characters", "invalid_blocks", srcSpec},
	cardBody:        {"card.body", 1, 200, "characters", "invalid_blocks", srcSpec},
	cardActions:     {"card.actions", 1, 3, "items", "invalid_blocks", srcSpec},
	carouselCards:   {"carousel.elements", 1, 10, "items", "invalid_blocks", srcTypes},
	containerTitle:  {"container.title", 1, 150, "characters", "invalid_blocks", srcSpec},
	containerBlocks: {"container.child_blocks", 1, 10, "items", "invalid_blocks", srcSpec},

	buttonText:        {"button.text", 1, 75, "characters", "invalid_blocks", srcElem + "/button-element"},
	buttonValue:       {"button.value", 0, 2000, "characters", "invalid_blocks", srcElem + "/button-element"},
	buttonURL:         {"button.url", 0, 3000, "characters", "invalid_blocks", srcElem + "/button-element"},
	buttonLabel:       {"button.accessibility_label", 0, 75, "characters", "invalid_blocks", srcElem + "/button-element"},
	buttonVisible:     {"button.visible_to_user_ids", 0, 10, "items", "invalid_blocks", "slack-go 0.31 changelog"},
	confirmTitle:      {"confirm.title", 1, 100, "characters", "invalid_blocks", srcTypes},
	confirmText:       {"confirm.text", 1, 300, "characters", "invalid_blocks", srcTypes},
	confirmButton:     {"confirm.button", 1, 30, "characters", "invalid_blocks", srcTypes},
	optionText:        {"option.text", 1, 75, "characters", "invalid_blocks", srcObj + "/option-object"},
	optionValue:       {"option.value", 1, 150, "characters", "invalid_blocks", srcObj + "/option-object"},
	optionDescription: {"option.description", 1, 75, "characters", "invalid_blocks", srcObj + "/option-object"},
	optionURL:         {"option.url", 0, 3000, "characters", "invalid_blocks", srcObj + "/option-object"},
	groupLabel:        {"option_group.label", 1, 75, "characters", "invalid_blocks", srcTypes},
	groupOptions:      {"option_group.options", 1, 100, "items", "invalid_blocks", srcTypes},
	selectOptions:     {"select.options", 1, 100, "items", "invalid_blocks", srcTypes},
	selectGroups:      {"select.option_groups", 1, 100, "items", "invalid_blocks", srcTypes},
	placeholder:       {"placeholder", 1, 150, "characters", "invalid_blocks", srcTypes},
	selectedItems:     {"select.max_selected_items", 1, 100, "value", "invalid_blocks", srcTypes},
	overflowOptions:   {"overflow.options", 1, 5, "items", "invalid_blocks", srcTypes},
	boxOptions:        {"checkboxes.options", 1, 10, "items", "invalid_blocks", srcTypes},
	inputMin:          {"plain_text_input.min_length", 0, 3000, "value", "invalid_blocks", srcElem + "/plain-text-input-element"},
	inputMax:          {"plain_text_input.max_length", 1, 3000, "value", "invalid_blocks", srcElem + "/plain-text-input-element"},
	fileCount:         {"file_input.max_files", 1, 10, "value", "invalid_blocks", srcTypes},
	richLines:         {"rich_text_input.lines", 1, 100, "value", "invalid_blocks", srcTypes},
	richIndent:        {"rich_text_list.indent", 0, 8, "value", "invalid_blocks", srcTypes},
	videoTitle:        {"video.title", 1, 199, "characters", "invalid_blocks", srcTypes},
	videoAuthor:       {"video.author_name", 1, 49, "characters", "invalid_blocks", srcTypes},

	viewTitle:    {"view.title", 1, 24, "characters", "invalid_arguments", srcModal},
	viewButton:   {"view.submit", 1, 24, "characters", "invalid_arguments", srcModal},
	viewMetadata: {"view.private_metadata", 0, 3000, "characters", "invalid_arguments", srcModal},
	viewCallback: {"view.callback_id", 0, 255, "characters", "invalid_arguments", srcModal},
	viewExternal: {"view.external_id", 0, 255, "characters", "invalid_arguments", srcModal},
}

// Limits returns every size that the fake enforces, each with its source. An
// error of a block inside a view is invalid_arguments instead of invalid_blocks.
func Limits() []Limit { return append([]Limit(nil), limitTable[:]...) }
