'use strict';
// Shows entries of a recording (DiagnosticsEntry). What they say has come from peers: it becomes text, never markup,
// and names are keys of maps, never of objects.

const rowHeight = 24, chunkRows = 256, chunksMax = 64, entriesMax = 200000, bytesMax = 2 ** 28, treeNodesMax = 2000;
const find = id => document.getElementById(id);
// Controls, and characters that turn the direction of the text around, are shown by their numbers.
const printable = content => String(content).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
  character => '\\u{' + character.charCodeAt(0).toString(16) + '}');
const text = (name, content, className) => {
  const node = document.createElement(name);
  node.textContent = printable(content);
  if (className) node.className = className;
  return node;
};
const grouped = number => number.toLocaleString('en');

// --- Words: an entry as people read it

const digits = (number, count) => String(number).padStart(count, '0');
const time = seconds => {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? String(seconds)
    : `${digits(date.getHours(), 2)}:${digits(date.getMinutes(), 2)}:${digits(date.getSeconds(), 2)}.${digits(date.getMilliseconds(), 3)}`;
};
const day = seconds => {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? ''
    : date.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' });
};
const zoneOf = date => new Intl.DateTimeFormat('en', { timeZoneName: 'shortOffset' }).formatToParts(date)
  .find(part => part.type === 'timeZoneName').value.replace('GMT', 'UTC').replace(/\+0$/, '');
const moment = seconds => day(seconds) ? `${day(seconds)}, ${time(seconds)}` : String(seconds);
const isDate = value => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value);
const isBranch = value => value !== null && typeof value === 'object';

function parsed(json) {
  try { return JSON.parse(json); } catch { return String(json ?? ''); }
}

// An event's case and its first plain values, such as "lap 3".
function nameOf(event) {
  if (!isBranch(event)) return String(event);
  let name = '', fields = event;
  for (let depth = 0; depth < 4 && !Array.isArray(fields); depth += 1) {
    const keys = Object.keys(fields);
    if (keys.length !== 1 || !isBranch(fields[keys[0]])) break;
    if (!/^_\d+$/.test(keys[0])) name += (name && ' ') + keys[0];
    fields = fields[keys[0]];
  }
  const values = Object.entries(fields).filter(([, value]) => value !== null && !isBranch(value) && !isDate(value)).slice(0, 2);
  const plain = values.map(([key, value]) => {
    const shown = typeof value === 'number' ? String(Number(value.toPrecision(6))) : String(value);
    return /^_?\d+$/.test(key) ? shown : `${key} ${shown}`;
  });
  return (name + (name && plain.length ? ' ' : '') + plain.join(', ')).slice(0, 80);
}

const payloadWords = new Map([['sessionmesh.control', 'control'], ['sessionmesh.newest', 'newest value'],
  ['sessionmesh.series', 'samples'], ['sessionmesh.relay', 'relayed events'], ['sessionmesh.copy', 'copy of the session'],
  ['sessionmesh.copy.request', 'request for a copy']]);
const kindWords = new Map([['envelope', 'message'], ['request', 'request for a snapshot']]);
const isMessage = entry => entry.kind === 'envelope' || entry.kind === 'snapshot' || entry.kind === 'request';

// JSON of the event that a message carries: where this entry has none, as it was sent.
const eventOf = entry => entry.kind !== 'envelope' ? undefined
  : entry.event ?? (sentAt.get(entry.message) ?? []).map(place => entries[place].event).find(event => event !== undefined);
const isAppEvent = entry => entry.kind === 'envelope'
  && (eventOf(entry) !== undefined || (entry.sequence > 0 && !String(entry.payloadType ?? '').startsWith('sessionmesh.')));

function titleOf(entry) {
  if (entry.kind === 'state') return `state, ${grouped(Number(entry.confirmed ?? 0))} confirmed`;
  if (entry.kind === 'reachability') return `${entry.from && entry.from !== entry.peer ? entry.from + ' ' : ''}${entry.text ?? ''}`;
  if (!isMessage(entry)) return String(entry.text ?? entry.kind).slice(0, 400);
  const event = eventOf(entry), name = event === undefined ? '' : nameOf(parsed(event));
  if (name) return name;
  const number = entry.sequence > 0 ? ` #${entry.sequence}` : '';
  const type = payloadWords.get(entry.payloadType) ?? entry.payloadType;
  if (!type) return entry.text && entry.step !== 'failed' ? String(entry.text).split(': ')[0].slice(0, 400) : kindWords.get(entry.kind) ?? entry.kind;
  if (entry.kind !== 'snapshot') return type + number;
  return (entry.payloadType === `${entry.feature}.state` ? 'snapshot' : `snapshot ${type}`) + number;
}

// What happened to a message. A send that finds no peer in reach is no failure.
function stepOf(entry) {
  if (!isMessage(entry)) return '';
  const reason = (entry.step === 'failed' || entry.step === 'late') && entry.text ? `: ${String(entry.text).slice(0, 200)}` : '';
  if (entry.step === 'failed') return (unsent.has(entry) ? 'not sent' : 'failed') + reason;
  return (entry.step === 'late' ? 'came late' : String(entry.step ?? '')) + reason;
}

function wayOf(entry) {
  if (!isMessage(entry)) return entry.peer;
  const from = entry.via ?? entry.from ?? 'a peer', to = entry.to ?? (entry.step === 'received' || entry.step === 'late' ? entry.peer : 'all');
  return `${from} to ${to}`;
}
const spoken = entry => printable(`${time(entry.at)}, ${wayOf(entry)}: ${[titleOf(entry), stepOf(entry)].filter(Boolean).join(', ')}`);

// --- What is known

let entries = [], rows = [];            // rows: places in `entries` that the filters let through
let byteCount = 0;                      // roughly, of all entries
let lanes = [], laneOf = new Map();     // peers, in the order in which they were seen
let sentAt = new Map();                 // message → places where it was sent
let states = new Map();                 // peer and feature → places of its states, ascending
let reached = new Map();                // peer → peers that it can reach
let unsent = new WeakSet();             // entries of sends that found no peer
let features = new Set();
let chunks = new Map();                 // by chunks of rows, the arrows that cross them
let cursor = -1, isPaused = false, lastNumber = 0;
let source = 'live';                    // or 'recording', or 'ended': a live one whose program has gone

function forgetAll() {
  entries = []; rows = []; lanes = []; laneOf = new Map(); sentAt = new Map(); states = new Map(); reached = new Map();
  unsent = new WeakSet(); features = new Set(); chunks = new Map(); cursor = -1; byteCount = 0;
}

// Only texts, events and states are long. A character may take two bytes.
const byteCountOf = entry => 1000 + 2 * (String(entry.text ?? '').length + String(entry.state ?? '').length
  + String(entry.event ?? '').length);

// The newest entries that take three quarters of the room, and at least one.
function newest() {
  let first = entries.length, bytes = 0;
  while (first > 0 && entries.length - first < entriesMax * 0.75) {
    bytes += byteCountOf(entries[first - 1]);
    if (bytes > bytesMax * 0.75 && first < entries.length) break;
    first -= 1;
  }
  return entries.slice(first);
}

// Why a send fails before the first peer has come (SessionSyncError.notReachable).
const noPeer = 'no peer can be reached now';
const peerNames = entry => [entry.peer, entry.from, entry.to].filter(name => typeof name === 'string' && name);

function take(entry) {
  if (!isBranch(entry) || typeof entry.peer !== 'string') return;
  // A file may say anything: all but the tables are plain values.
  for (const [name, value] of Object.entries(entry)) if (isBranch(value) !== (name === 'vector' || name === 'sync')) delete entry[name];
  const place = entries.push(entry) - 1;
  byteCount += byteCountOf(entry);
  for (const name of peerNames(entry)) if (!laneOf.has(name) && lanes.length < 64) {
    laneOf.set(name, lanes.length);
    lanes.push(name);
  }
  if (typeof entry.feature === 'string' && features.size < 256) features.add(entry.feature);
  if (entry.kind === 'state') {
    const key = JSON.stringify([entry.peer, entry.feature ?? '']);
    if (!states.has(key)) states.set(key, []);
    states.get(key).push(place);
    entry.color = colorOf(String(entry.state ?? ''));
  }
  if (entry.kind === 'reachability' && entry.from && laneOf.has(entry.peer)) {
    if (!reached.has(entry.peer)) reached.set(entry.peer, new Set());
    if (entry.text === 'reachable') reached.get(entry.peer).add(entry.from); else reached.get(entry.peer).delete(entry.from);
  }
  if (entry.step === 'failed' && (reached.get(entry.peer)?.size === 0 || entry.text === noPeer)) unsent.add(entry);
  if (entry.message && entry.step === 'sent') {
    if (!sentAt.has(entry.message)) sentAt.set(entry.message, []);
    sentAt.get(entry.message).push(place);
  }
  if (isShown(entry)) showRow(place);
}

function colorOf(state) {
  let hash = 2166136261;
  for (let index = 0; index < state.length; index += 1) hash = Math.imul(hash ^ state.charCodeAt(index), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 2246822519) >>> 0;
  return `hsl(${hash % 360} ${45 + (hash >>> 9) % 40}% ${42 + (hash >>> 17) % 20}%)`;
}

const chosen = { feature: '', peer: '', kind: '', events: false, search: '' };
function isShown(entry) {
  return (!chosen.feature || entry.feature === chosen.feature) && (!chosen.peer || peerNames(entry).includes(chosen.peer))
    && (!chosen.kind || entry.kind === chosen.kind) && (!chosen.events || isAppEvent(entry))
    && (!chosen.search || contentOf(entry).includes(chosen.search));
}
// Everything that the row and the panel show of an entry.
const contentOf = entry => [spoken(entry), day(entry.at), eventOf(entry),
  ...Object.entries(entry).filter(([name]) => name !== 'color').map(([name, value]) => isBranch(value) ? Object.values(value) : value)]
  .join('\n').toLowerCase();

const rowOf = new Map();
function showRow(place) {
  const row = rows.push(place) - 1, entry = entries[place];
  rowOf.set(place, row);
  if (!isMessage(entry)) return;
  const to = laneOf.get(entry.to), from = laneOf.get(entry.from);
  if (entry.step === 'received' || entry.step === 'late' || entry.step === 'lost') {
    // The latest time that its sender sent it, here or to this one.
    const sent = (sentAt.get(entry.message) || []).findLast(place =>
      entries[place].peer === (entry.via ?? entry.from) && (!entries[place].to || entries[place].to === entry.to));
    const start = sent === undefined ? undefined : rowOf.get(sent);
    addArrow({ start: start ?? row - 0.9, end: row, from: laneOf.get(entry.via ?? entry.from), to, entry });
  } else if (entry.step === 'acknowledged') {
    addArrow({ start: row - 0.9, end: row, from: to, to: laneOf.get(entry.peer), entry });
  } else if (entry.step === 'failed') {
    addArrow({ start: row, end: row + 0.9, from, to, entry });
  } else if (entry.step === 'sent' && (entry.to ? !recorders.has(entry.to) : recorders.size < 2)) {
    addArrow({ start: row, end: row + 0.9, from: laneOf.get(entry.peer), to, entry });
  }
}

function addArrow(arrow) {
  if (arrow.from === undefined || arrow.from === arrow.to) return;
  if (arrow.to === undefined && arrow.entry.step !== 'sent' && arrow.entry.step !== 'failed') return;
  const first = Math.max(0, Math.floor(arrow.start / chunkRows)), last = Math.floor(arrow.end / chunkRows);
  // One that spans more rows than a person scrolls through is drawn at its ends.
  for (let chunk = first; chunk <= last; chunk += 1) {
    if (chunk - first >= chunksMax && last - chunk >= chunksMax) continue;
    if (!chunks.has(chunk)) chunks.set(chunk, []);
    chunks.get(chunk).push(arrow);
  }
}

// Peers that record themselves: what is sent to them is drawn where they receive it.
let recorders = new Set();

function filter() {
  const before = cursor;
  rows = []; chunks = new Map(); rowOf.clear();
  entries.forEach((entry, place) => { if (isShown(entry)) showRow(place); });
  // The nearest entry before that is still shown.
  cursor = before;
  while (cursor >= 0 && !rowOf.has(cursor)) cursor -= 1;
  if (cursor < 0 && rows.length) cursor = rows[0];
  changed(true);
}

// Live entries move the page at most once a second for people who prefer less motion.
const calm = matchMedia('(prefers-reduced-motion: reduce)');

function add(lines) {
  const before = entries.length, knownLanes = lanes.length, knownFeatures = features.size;
  for (const entry of lines) if (entry && entry.peer) recorders.add(entry.peer);
  for (const entry of lines) take(entry);
  if (entries.length > entriesMax || byteCount > bytesMax) {
    const kept = newest();
    forgetAll();
    for (const entry of kept) take(entry);
    filter();
  }
  if (entries.length === before) return;
  if (lanes.length !== knownLanes || features.size !== knownFeatures) offerFilters();
  if (!isPaused && rows.length) cursor = rows[rows.length - 1];
  changed(!isPaused, source === 'live' && calm.matches ? 1000 : 0);
}

// --- Drawing

let drawn = 0, delayed = 0, follows = false;
function changed(scrolls, delay = 0) {
  follows = follows || scrolls;
  if (delay) {
    delayed = delayed || setTimeout(() => { delayed = 0; changed(false); }, delay);
  } else if (!drawn) {
    drawn = requestAnimationFrame(() => {
      drawn = 0;
      draw(follows);
      follows = false;
    });
  }
}

function draw(scrolls) {
  find('spacer').style.height = rows.length * rowHeight + 8 + 'px';
  const travel = find('travel'), row = rowOf.get(cursor);
  travel.max = Math.max(0, rows.length - 1);
  travel.value = row ?? 0;
  travel.setAttribute('aria-valuetext', row === undefined ? 'nothing' : `entry ${row + 1} of ${rows.length}`);
  if (scrolls && row !== undefined) {
    const scroll = find('scroll'), top = row * rowHeight;
    if (top < scroll.scrollTop + rowHeight || top > scroll.scrollTop + scroll.clientHeight - 2 * rowHeight) {
      scroll.scrollTop = isPaused ? top - scroll.clientHeight / 2 : top;
    }
  }
  drawDiagram();
  drawPanels();
  const origin = { live: 'Live', recording: 'Recording', ended: 'Ended, because the program has gone' }[source];
  const place = row === undefined ? '' : `, at ${grouped(row + 1)}`;
  find('standing').textContent = `${origin}: ${grouped(rows.length)} of ${grouped(entries.length)} entries${place}`
    + `${isPaused && source === 'live' ? ', paused' : ''}.`;
  find('date').textContent = row === undefined || !day(entries[cursor].at) ? ''
    : `${day(entries[cursor].at)}, local time (${zoneOf(new Date(entries[cursor].at * 1000))})`;
}

// Said to a screen reader: answers to what a person did, not what passes.
const say = words => { find('said').textContent = words; };

const palette = {};
function readPalette() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['ink', 'soft', 'lane', 'sent', 'received', 'lost', 'late', 'chosen', 'card']) {
    palette[name] = style.getPropertyValue('--' + name).trim();
  }
}

// Columns are as wide as their names need. Labels get the rest, and columns what labels leave.
const labelWidth = 380;
function pitchOf(width) {
  const count = Math.max(1, lanes.length);
  const context = find('canvas').getContext('2d');
  context.font = `600 ${getComputedStyle(find('lanes')).fontSize} system-ui, sans-serif`;
  const names = Math.max(32, ...lanes.map(name => Math.min(100, 6 + context.measureText(printable(name)).width)));
  const least = Math.min(names, width * 0.45 / count);
  return Math.max(least, Math.min(190, (width - labelWidth) / count));
}
const laneX = (lane, pitch) => (lane + 0.5) * pitch;

let labelledLanes = '';
function drawDiagram() {
  const scroll = find('scroll'), canvas = find('canvas');
  const width = scroll.clientWidth, height = scroll.clientHeight, scale = devicePixelRatio || 1, pitch = pitchOf(width);
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
  }
  const labels = JSON.stringify([pitch, lanes]);
  if (labels !== labelledLanes) {
    labelledLanes = labels;
    find('lanes').replaceChildren(...lanes.map((name, lane) => {
      const label = text('span', name);
      label.title = printable(name);
      label.style.left = laneX(lane, pitch) + 'px';
      label.style.maxWidth = pitch - 2 + 'px';
      return label;
    }));
  }
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const top = scroll.scrollTop, first = Math.max(0, Math.floor(top / rowHeight) - 1);
  const last = Math.min(rows.length - 1, Math.ceil((top + height) / rowHeight));
  const y = row => (row + 0.5) * rowHeight - top;

  const chosenRow = rowOf.get(cursor);
  if (chosenRow !== undefined) {
    context.fillStyle = palette.chosen;
    context.fillRect(0, chosenRow * rowHeight - top, width, rowHeight);
  }
  context.strokeStyle = palette.lane;
  context.lineWidth = 1;
  context.beginPath();
  for (let lane = 0; lane < lanes.length; lane += 1) {
    const x = Math.round(laneX(lane, pitch)) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  context.stroke();

  const seen = new Set();
  for (let chunk = Math.floor(first / chunkRows); chunk <= Math.floor(last / chunkRows); chunk += 1) {
    for (const arrow of chunks.get(chunk) || []) {
      if (seen.has(arrow) || arrow.end < first || arrow.start > last + 1) continue;
      seen.add(arrow);
      drawArrow(context, arrow, y, pitch, chosenRow);
    }
  }
  for (let row = first; row <= last; row += 1) drawMark(context, entries[rows[row]], y(row), pitch);
  for (const arrow of seen) nameArrow(context, arrow, y, pitch);
  drawRows(first, last, pitch * lanes.length);
}

const isLost = entry => (entry.step === 'lost' || entry.step === 'failed') && !unsent.has(entry);
const colorOfStep = entry => isLost(entry) ? palette.lost : entry.step === 'late' ? palette.late
  : entry.step === 'acknowledged' || unsent.has(entry) ? palette.soft : entry.step === 'sent' ? palette.sent : palette.received;

function drawArrow(context, arrow, y, pitch, chosenRow) {
  const { entry } = arrow, arrives = entry.step !== 'lost' && entry.step !== 'failed';
  context.strokeStyle = context.fillStyle = colorOfStep(entry);
  context.lineWidth = chosenRow !== undefined && Math.ceil(arrow.end) === chosenRow ? 2.5 : 1.2;
  context.setLineDash(!arrives ? [4, 3] : entry.kind === 'snapshot' ? [9, 3] : entry.kind === 'request' ? [2, 3] : []);
  const targets = arrow.to !== undefined ? [arrow.to] : lanes.map((_, lane) => lane).filter(lane => lane !== arrow.from);
  for (const target of targets) {
    const x0 = laneX(arrow.from, pitch), y0 = y(arrow.start);
    const share = arrives ? 1 : 0.6;
    const x1 = x0 + (laneX(target, pitch) - x0) * share, y1 = y0 + (y(arrow.end) - y0) * share;
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    const angle = Math.atan2(y1 - y0, x1 - x0);
    context.beginPath();
    if (arrives) {
      context.moveTo(x1, y1);
      context.lineTo(x1 - 7 * Math.cos(angle - 0.4), y1 - 7 * Math.sin(angle - 0.4));
      context.lineTo(x1 - 7 * Math.cos(angle + 0.4), y1 - 7 * Math.sin(angle + 0.4));
      context.fill();
    } else if (isLost(entry)) {
      context.moveTo(x1 - 4, y1 - 4); context.lineTo(x1 + 4, y1 + 4);
      context.moveTo(x1 + 4, y1 - 4); context.lineTo(x1 - 4, y1 + 4);
      context.setLineDash([]);
      context.stroke();
    }
  }
  context.setLineDash([]);
}

// The name of an app's event, on its arrow if it fits there.
function nameArrow(context, arrow, y, pitch) {
  if (!isAppEvent(arrow.entry) || arrow.to === undefined) return;
  const arrives = arrow.entry.step !== 'lost' && arrow.entry.step !== 'failed', share = arrives ? 1 : 0.6;
  const x0 = laneX(arrow.from, pitch), x1 = x0 + (laneX(arrow.to, pitch) - x0) * share, name = printable(titleOf(arrow.entry));
  context.font = '600 11px system-ui, sans-serif';
  const width = context.measureText(name).width;
  if (width > Math.abs(x1 - x0) - 24) return;
  const x = (x0 + x1) / 2, middle = y(arrow.start) + (y(arrow.end) - y(arrow.start)) * share / 2;
  context.fillStyle = palette.card;
  context.fillRect(x - width / 2 - 3, middle - 7, width + 6, 14);
  context.fillStyle = colorOfStep(arrow.entry);
  context.fillText(name, x - width / 2, middle + 4);
}

function drawMark(context, entry, y, pitch) {
  const x = laneX(laneOf.get(entry.peer) ?? 0, pitch);
  if (entry.kind === 'state') {
    context.fillStyle = entry.color;
    context.fillRect(x - 5, y - 5, 10, 10);
    context.strokeStyle = palette.ink;
    context.lineWidth = 1;
    context.strokeRect(x - 5.5, y - 5.5, 11, 11);
  } else {
    context.fillStyle = colorOfStep(entry);
    context.beginPath();
    context.arc(x, y, 3, 0, 2 * Math.PI);
    context.fill();
  }
}

// --- Rows: only those in sight are in the page. A row keeps its element while it stays in sight.

const pool = [];
function drawRows(first, last, left) {
  const count = last - first + 1, chosenRow = rowOf.get(cursor);
  while (pool.length < count) pool.push(find('rows').appendChild(document.createElement('div')));
  const used = new Set();
  for (let row = first; row <= last; row += 1) {
    const node = pool[row % pool.length], entry = entries[rows[row]];
    used.add(node);
    const key = `${row} ${rows[row]} ${entry.number} ${row === chosenRow} ${rows.length} ${left}`;
    if (node.shown !== key) fillRow(node, row, entry, row === chosenRow, left);
    node.shown = key;
  }
  for (const node of pool) {
    node.hidden = !used.has(node);
    if (node.hidden) node.removeAttribute('id');
  }
  const isInSight = chosenRow >= first && chosenRow <= last;
  if (isInSight) find('scroll').setAttribute('aria-activedescendant', `row-${chosenRow}`);
  else find('scroll').removeAttribute('aria-activedescendant');
}

function fillRow(node, row, entry, isChosen, left) {
  node.id = `row-${row}`;
  node.className = isAppEvent(entry) ? 'row event' : 'row';
  node.style.top = row * rowHeight + 'px';
  node.style.paddingLeft = left + 'px';
  const step = stepOf(entry), stepClass = isLost(entry) ? 'lost' : entry.step === 'late' ? 'late' : '';
  node.replaceChildren(text('time', time(entry.at)), text('b', titleOf(entry)), text('span', step, stepClass));
  node.title = spoken(entry);
  for (const [name, value] of [['role', 'option'], ['aria-selected', isChosen], ['aria-posinset', row + 1],
    ['aria-setsize', rows.length], ['aria-label', spoken(entry)]]) node.setAttribute(name, value);
}

// --- Panels: how all stands at the cursor

let shownPanels = '';
function drawPanels() {
  const entry = entries[cursor];
  const key = `${cursor} ${entries.length && entry?.number} ${find('whose').value} ${states.size}`;
  if (key === shownPanels) return;
  shownPanels = key;
  drawDetails(entry);
  const standing = latestStates();
  drawPeers(standing);
  drawOrder(standing);
  drawState(standing);
  drawBytes();
}

const detailNames = new Map([['at', 'time'], ['peer', 'recorded by'], ['payloadType', 'type']]);
function drawDetails(entry) {
  const hidden = new Set(['state', 'event', 'vector', 'sync', 'color', 'number']);
  const details = entry ? Object.entries(entry).filter(([name]) => !hidden.has(name)) : [];
  const order = name => name === 'at' ? 0 : 1;
  details.sort(([one], [other]) => order(one) - order(other));
  find('entry').replaceChildren(...details.flatMap(([name, value]) =>
    [text('dt', detailNames.get(name) ?? name), text('dd', name === 'at' ? moment(value) : name === 'cut' ? moment(value / 1000)
      : typeof value === 'number' ? grouped(value) : String(value))]));
  const event = entry && eventOf(entry), isSnapshot = entry?.kind === 'snapshot' && entry.state !== undefined;
  find('event').replaceChildren(...event !== undefined ? [tree('event', parsed(event))]
    : isSnapshot ? [tree('state', parsed(entry.state))] : []);
}

// The last place of an ascending list that is not beyond the cursor.
function before(places, end) {
  let low = 0, high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle] <= end) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function latestStates() {
  const standing = [];
  for (const [key, places] of states) {
    const index = before(places, cursor);
    if (index >= 0) standing.push({ key, entry: entries[places[index]], earlier: entries[places[index - 1]] });
  }
  return standing;
}

// Features are named where there are several.
const holderOf = ({ entry }) => entry.feature && features.size > 1 ? `${entry.peer}, ${entry.feature}` : entry.peer;

function tableOf(head, lines) {
  const table = document.createElement('table');
  const row = document.createElement('tr');
  row.append(...head.map(name => {
    const cell = text('th', name);
    cell.scope = 'col';
    return cell;
  }));
  table.append(row, ...lines.map(cells => {
    const line = document.createElement('tr');
    line.append(...cells.map((cell, index) => typeof cell === 'string' || typeof cell === 'number'
      ? text('td', String(cell), index === 0 ? 'text' : '') : cell));
    for (const cell of line.children) cell.title = cell.textContent;
    return line;
  }));
  return table;
}
const nothing = () => text('p', 'Nothing yet.', 'none');

let reachability = { until: -1, known: new Map() };
function drawPeers(standing) {
  if (reachability.until > cursor) reachability = { until: -1, known: new Map() };
  for (let place = reachability.until + 1; place <= cursor; place += 1) {
    const entry = entries[place];
    if (entry.kind === 'reachability') reachability.known.set(JSON.stringify([entry.peer, entry.from]), entry.text);
  }
  reachability.until = cursor;
  const lines = lanes.map(name => {
    const views = [];
    for (const state of standing) {
      const sync = state.entry.sync?.[name];
      if (typeof sync === 'string') views.push(`${holderOf(state)}: ${sync}`);
    }
    for (const observer of lanes) {
      const reachable = reachability.known.get(JSON.stringify([observer, name]));
      if (reachable) views.push(`${reachable} from ${observer}`);
    }
    return [name, text('td', views.join(' · ') || '–', 'text')];
  });
  find('peers').replaceChildren(lines.length ? tableOf(['peer', 'standing'], lines) : nothing());
}

function drawOrder(standing) {
  const sources = [...new Set(standing.flatMap(({ entry }) => Object.keys(entry.vector ?? {})))].slice(0, 64);
  const value = (entry, source) => Object.hasOwn(entry.vector ?? {}, source) ? Number(entry.vector[source]) : 0;
  const cells = (name, values) => {
    const isApart = new Set(values).size > 1;
    return [name, ...values.map(value => text('td', grouped(value), isApart ? 'apart' : ''))];
  };
  const lines = [
    cells('confirmed', standing.map(({ entry }) => entry.confirmed ?? 0)),
    ['cut', ...standing.map(({ entry }) => text('td', entry.cut ? time(entry.cut / 1000) : '–'))],
    ...sources.map(source => cells(source, standing.map(({ entry }) => value(entry, source)))),
  ];
  find('order').replaceChildren(standing.length ? tableOf(['held of', ...standing.map(holderOf)], lines) : nothing());
}

function drawState(standing) {
  const whose = find('whose'), chosen = whose.value, keys = standing.map(state => state.key);
  if (JSON.stringify([...whose.options].map(option => option.value)) !== JSON.stringify(keys)) {
    whose.replaceChildren(...standing.map(state => {
      const option = text('option', holderOf(state));
      option.value = state.key;
      return option;
    }));
    if (keys.includes(chosen)) whose.value = chosen;
  }
  whose.hidden = !standing.length;
  const state = standing.find(state => state.key === whose.value);
  if (!state) return find('state').replaceChildren(nothing());
  find('state').replaceChildren(tree('state', parsed(state.entry.state),
    state.earlier ? parsed(state.earlier.state) : undefined, !state.earlier));
}

// Marks what is different from an earlier value, unless it is quiet.
function tree(name, value, earlier, isQuiet = true) {
  const budget = { nodes: treeNodesMax }, list = document.createElement('ul');
  list.append(branch(name, value, earlier, budget, isQuiet));
  if (budget.nodes <= 0) list.append(text('li', `Only the first ${treeNodesMax} values are shown.`, 'none'));
  return list;
}

function branch(name, value, earlier, budget, isQuiet) {
  const item = document.createElement('li');
  if (budget.nodes <= 0) return item;
  budget.nodes -= 1;
  const isChanged = !isQuiet && JSON.stringify(value) !== JSON.stringify(earlier);
  if (!isBranch(value)) {
    const leaf = text(isChanged ? 'mark' : 'span', isDate(value) ? moment(Date.parse(value) / 1000) : JSON.stringify(value) ?? '');
    if (isDate(value)) leaf.title = value;
    if (isChanged && earlier !== undefined && !isBranch(earlier)) leaf.title = 'was ' + JSON.stringify(earlier);
    item.append(text('span', name + ': ', 'name'), leaf);
    return item;
  }
  const names = Object.keys(value), folded = document.createElement('details'), list = document.createElement('ul');
  folded.open = isChanged || names.length <= 12;
  const title = text('summary', '');
  title.append(text(isChanged ? 'mark' : 'span', name), text('span', Array.isArray(value) ? ` [${names.length}]` : '', 'name'));
  folded.append(title, list);
  for (const key of names) {
    if (budget.nodes <= 0) break;
    const before = isBranch(earlier) && Object.hasOwn(earlier, key) ? earlier[key] : undefined;
    list.append(branch(key, value[key], before, budget, isQuiet));
  }
  item.append(folded);
  return item;
}

let counted = { until: -1, totals: new Map() };
function drawBytes() {
  if (counted.until > cursor) counted = { until: -1, totals: new Map() };
  for (let place = counted.until + 1; place <= cursor; place += 1) {
    const entry = entries[place];
    if (!(entry.bytes >= 0)) continue;
    const key = JSON.stringify([entry.feature ?? '', entry.codec ?? '']);
    const total = counted.totals.get(key) || { feature: entry.feature ?? '', codec: entry.codec ?? '', count: 0, bytes: 0 };
    total.count += 1;
    total.bytes += entry.bytes;
    counted.totals.set(key, total);
  }
  counted.until = cursor;
  const lines = [...counted.totals.values()].sort((a, b) => b.bytes - a.bytes).slice(0, 64).map(total =>
    [total.feature, total.codec, grouped(total.count), grouped(total.bytes),
      grouped(Math.round(total.bytes / total.count))]);
  find('bytes').replaceChildren(lines.length ? tableOf(['feature', 'codec', 'messages', 'bytes', 'each'], lines) : nothing());
}

// --- Controls

function offerFilters() {
  for (const [id, names] of [['feature', [...features].sort()], ['peer', [...lanes].sort()]]) {
    const select = find(id), chosen = select.value;
    select.replaceChildren(...['', ...names].map(name => {
      const option = text('option', name || 'all');
      option.value = name;
      return option;
    }));
    select.value = names.includes(chosen) ? chosen : '';
  }
}

function goTo(row) {
  if (!rows.length) return;
  setPaused(true);
  cursor = rows[Math.min(Math.max(0, row), rows.length - 1)];
  changed(true);
}
const step = by => goTo((rowOf.get(cursor) ?? 0) + by);

// Only what is live can be paused.
function become(origin) {
  source = origin;
  find('pause').hidden = source !== 'live';
  changed(false);
}

function setPaused(paused) {
  isPaused = paused;
  find('pause').textContent = paused ? 'Follow' : 'Pause';
  find('pause').setAttribute('aria-pressed', paused);
}
function togglePause() {
  if (source !== 'live') return;
  setPaused(!isPaused);
  say(isPaused ? 'Paused.' : 'Following.');
  if (!isPaused && rows.length) cursor = rows[rows.length - 1];
  changed(true);
}

find('first').addEventListener('click', () => goTo(0));
find('back').addEventListener('click', () => step(-1));
find('forward').addEventListener('click', () => step(1));
find('pause').addEventListener('click', togglePause);
find('travel').addEventListener('input', event => goTo(Number(event.target.value)));
function filterBy(name, value) {
  chosen[name] = value;
  filter();
  say(`${grouped(rows.length)} of ${grouped(entries.length)} entries.`);
}
for (const id of ['feature', 'peer', 'kind']) find(id).addEventListener('change', event => filterBy(id, event.target.value));
find('events').addEventListener('change', event => filterBy('events', event.target.checked));
let searching = 0;
find('search').addEventListener('input', event => {
  clearTimeout(searching);
  searching = setTimeout(() => filterBy('search', event.target.value.trim().toLowerCase()), 150);
});
find('whose').addEventListener('change', () => changed(false));
find('scroll').addEventListener('scroll', () => changed(false), { passive: true });
find('scroll').addEventListener('click', event => {
  const scroll = find('scroll');
  goTo(Math.floor((scroll.scrollTop + event.clientY - scroll.getBoundingClientRect().top) / rowHeight));
  scroll.focus();
});
addEventListener('resize', () => changed(false));
addEventListener('keydown', event => {
  const isField = ['SELECT', 'INPUT'].includes(event.target.tagName) && event.target.id !== 'travel';
  if (event.metaKey || event.ctrlKey || event.altKey || isField || event.target.closest('#panels, #legend')) return;
  const isButton = ['BUTTON', 'SUMMARY', 'A'].includes(event.target.tagName);
  const actions = {
    ArrowLeft: () => step(-1), ArrowUp: () => step(-1), ArrowRight: () => step(1), ArrowDown: () => step(1),
    PageUp: () => step(-20), PageDown: () => step(20), Home: () => goTo(0), End: () => goTo(rows.length - 1),
  };
  if (event.key === ' ' && !isButton) togglePause();
  else if (event.key === '/') find('search').focus();
  else if (Object.hasOwn(actions, event.key)) actions[event.key]();
  else return;
  event.preventDefault();
});
find('open').addEventListener('change', async event => {
  const file = event.target.files[0];
  if (!file) return;
  become('recording');
  forgetAll();
  recorders = new Set();
  add(linesOf(await file.text()));
  filter();
  goTo(0);
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  readPalette();
  changed(false);
});

function linesOf(lines) {
  return lines.split('\n').filter(Boolean).map(line => {
    try { return JSON.parse(line); } catch { return null; }
  });
}

async function follow() {
  let patience = 250;
  while (source !== 'recording') {
    try {
      const answer = await fetch(`entries?after=${lastNumber}`, { cache: 'no-store' });
      if (!answer.ok) throw new Error(String(answer.status));
      const lines = linesOf(await answer.text()), isRecording = answer.headers.get('Inspector-Source') === 'recording';
      // A person has opened a file in the meantime.
      if (source === 'recording') return;
      if (source === 'ended') become('live');
      if (lines.length) lastNumber = lines[lines.length - 1].number;
      add(lines);
      if (isRecording && !lines.length) become('recording');
      patience = 250;
    } catch {
      if (source === 'live') {
        become('ended');
        say('Ended. The entries stay here.');
      }
      await new Promise(done => setTimeout(done, patience));
      patience = Math.min(5000, patience * 2);
    }
  }
}

readPalette();
setPaused(false);
changed(false);
follow();
