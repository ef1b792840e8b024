'use strict';
// Shows entries of a recording (DiagnosticsEntry). What they say has come from peers: it becomes text, never markup,
// and names are keys of maps, never of objects.

const rowHeight = 18, chunkRows = 256, chunksMax = 64, entriesMax = 200000, bytesMax = 2 ** 28, treeNodesMax = 2000;
const find = id => document.getElementById(id);
// Controls, and what turns the direction of the text around, are shown by their numbers.
const printable = content => String(content).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
  character => '\\u{' + character.charCodeAt(0).toString(16) + '}');
const text = (name, content, className) => {
  const node = document.createElement(name);
  node.textContent = printable(content);
  if (className) node.className = className;
  return node;
};

// --- What is known

let entries = [], rows = [];            // rows: places in `entries` that the filters let through
let byteCount = 0;                      // roughly, of all entries
let lanes = [], laneOf = new Map();     // peers, in the order in which they were seen
let sentAt = new Map();                 // message → places where it was sent
let states = new Map();                 // peer and feature → places of its states, ascending
let features = new Set();
let arrows = [], chunks = new Map();    // arrows by rows, and by chunks of rows those that cross them
let cursor = -1, isPaused = false, lastNumber = 0, isLive = true;

function forgetAll() {
  entries = []; rows = []; lanes = []; laneOf = new Map(); sentAt = new Map(); states = new Map();
  features = new Set(); arrows = []; chunks = new Map(); cursor = -1; byteCount = 0;
}

// Long are only texts and states, of which a character may take two bytes.
const byteCountOf = entry => 1000 + 2 * String(entry.text ?? '').length + 2 * String(entry.state ?? '').length;

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

const peerNames = entry => [entry.peer, entry.from, entry.to].filter(name => typeof name === 'string' && name);

function take(entry) {
  if (!entry || typeof entry !== 'object' || typeof entry.peer !== 'string') return;
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

function isShown(entry) {
  const feature = find('feature').value, peer = find('peer').value;
  return (!feature || entry.feature === feature) && (!peer || peerNames(entry).includes(peer));
}

const rowOf = new Map();
function showRow(place) {
  const row = rows.push(place) - 1, entry = entries[place];
  rowOf.set(place, row);
  if (entry.kind !== 'envelope' && entry.kind !== 'snapshot' && entry.kind !== 'request') return;
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
  const chosen = cursor;
  rows = []; chunks = new Map(); rowOf.clear();
  entries.forEach((entry, place) => { if (isShown(entry)) showRow(place); });
  // The nearest entry before that is still shown.
  cursor = chosen;
  while (cursor >= 0 && !rowOf.has(cursor)) cursor -= 1;
  if (cursor < 0 && rows.length) cursor = rows[0];
  changed(true);
}

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
  changed(!isPaused);
}

// --- Drawing

let drawn = 0;
let follows = false;
function changed(scrolls) {
  follows = follows || scrolls;
  if (!drawn) drawn = requestAnimationFrame(() => {
    drawn = 0;
    draw(follows);
    follows = false;
  });
}

function draw(scrolls) {
  find('spacer').style.height = rows.length * rowHeight + 8 + 'px';
  const travel = find('travel');
  travel.max = Math.max(0, rows.length - 1);
  travel.value = rowOf.get(cursor) ?? 0;
  const row = rowOf.get(cursor);
  travel.setAttribute('aria-valuetext', row === undefined ? 'nothing' : `entry ${row + 1} of ${rows.length}`);
  if (scrolls && row !== undefined) {
    const scroll = find('scroll'), top = row * rowHeight;
    if (top < scroll.scrollTop + rowHeight || top > scroll.scrollTop + scroll.clientHeight - 2 * rowHeight) {
      scroll.scrollTop = isPaused ? top - scroll.clientHeight / 2 : top;
    }
  }
  drawDiagram();
  drawPanels();
  const place = row === undefined ? '' : `, at ${(row + 1).toLocaleString('en')}`;
  find('standing').textContent = `${isLive ? 'Live' : 'Recording'}: ${rows.length.toLocaleString('en')} of `
    + `${entries.length.toLocaleString('en')} entries${place}${isPaused ? ', paused' : ''}.`;
}

const palette = {};
function readPalette() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['ink', 'soft', 'line', 'lane', 'sent', 'received', 'lost', 'late', 'chosen', 'card']) {
    palette[name] = style.getPropertyValue('--' + name).trim();
  }
}

const laneX = (lane, width) => {
  const label = width < 520 ? 0 : Math.min(230, width * 0.32);
  return (lane + 0.5) * (width - label) / Math.max(1, lanes.length);
};

function describe(entry) {
  const subject = entry.kind === 'note' || entry.kind === 'reachability' ? entry.text
    : entry.kind === 'state' ? `state, ${entry.confirmed ?? 0} confirmed`
      : `${entry.step ?? ''} ${entry.kind} ${entry.from ?? ''}${entry.sequence ? '#' + entry.sequence : ''}`
        + `${entry.payloadType ? ' ' + entry.payloadType : ''}${entry.text ? ': ' + entry.text : ''}`;
  return printable(String(subject ?? '').slice(0, 200));
}

let labelledLanes = '';
function drawDiagram() {
  const scroll = find('scroll'), canvas = find('canvas');
  const width = scroll.clientWidth, height = scroll.clientHeight, scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
  }
  const labels = JSON.stringify([width, lanes]);
  if (labels !== labelledLanes) {
    labelledLanes = labels;
    find('lanes').replaceChildren(...lanes.map((name, lane) => {
      const label = text('span', name);
      label.title = printable(name);
      label.style.left = laneX(lane, width) + 'px';
      label.style.maxWidth = laneX(1, width) - laneX(0, width) - 4 + 'px';
      return label;
    }));
  }
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '11.5px system-ui, sans-serif';
  const top = scroll.scrollTop, first = Math.max(0, Math.floor(top / rowHeight) - 1);
  const last = Math.min(rows.length - 1, Math.ceil((top + height) / rowHeight));
  const y = row => (row + 0.5) * rowHeight - top;

  const chosen = rowOf.get(cursor);
  if (chosen !== undefined) {
    context.fillStyle = palette.chosen;
    context.fillRect(0, chosen * rowHeight - top, width, rowHeight);
  }
  context.strokeStyle = palette.lane;
  context.lineWidth = 1;
  context.beginPath();
  for (let lane = 0; lane < lanes.length; lane += 1) {
    const x = Math.round(laneX(lane, width)) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  context.stroke();

  const seen = new Set();
  for (let chunk = Math.floor(first / chunkRows); chunk <= Math.floor(last / chunkRows); chunk += 1) {
    for (const arrow of chunks.get(chunk) || []) {
      if (seen.has(arrow) || arrow.end < first || arrow.start > last + 1) continue;
      seen.add(arrow);
      drawArrow(context, arrow, y, width, chosen);
    }
  }
  for (let row = first; row <= last; row += 1) drawEntry(context, entries[rows[row]], y(row), width);
}

function drawArrow(context, arrow, y, width, chosen) {
  const { entry } = arrow, isLost = entry.step === 'lost' || entry.step === 'failed';
  context.strokeStyle = isLost ? palette.lost : entry.step === 'late' ? palette.late
    : entry.step === 'acknowledged' ? palette.soft : entry.step === 'sent' ? palette.sent : palette.received;
  context.fillStyle = context.strokeStyle;
  context.lineWidth = chosen !== undefined && Math.ceil(arrow.end) === chosen ? 2.5 : 1.2;
  context.setLineDash(isLost ? [4, 3] : entry.kind === 'snapshot' ? [9, 3] : entry.kind === 'request' ? [2, 3] : []);
  const targets = arrow.to !== undefined ? [arrow.to] : lanes.map((_, lane) => lane).filter(lane => lane !== arrow.from);
  for (const target of targets) {
    const x0 = laneX(arrow.from, width), y0 = y(arrow.start);
    const share = isLost ? 0.6 : 1;
    const x1 = x0 + (laneX(target, width) - x0) * share, y1 = y0 + (y(arrow.end) - y0) * share;
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    const angle = Math.atan2(y1 - y0, x1 - x0);
    context.beginPath();
    if (isLost) {
      context.moveTo(x1 - 4, y1 - 4); context.lineTo(x1 + 4, y1 + 4);
      context.moveTo(x1 + 4, y1 - 4); context.lineTo(x1 - 4, y1 + 4);
      context.setLineDash([]);
      context.stroke();
    } else {
      context.moveTo(x1, y1);
      context.lineTo(x1 - 7 * Math.cos(angle - 0.4), y1 - 7 * Math.sin(angle - 0.4));
      context.lineTo(x1 - 7 * Math.cos(angle + 0.4), y1 - 7 * Math.sin(angle + 0.4));
      context.fill();
    }
  }
  context.setLineDash([]);
}

function drawEntry(context, entry, y, width) {
  const x = laneX(laneOf.get(entry.peer) ?? 0, width);
  if (entry.kind === 'state') {
    context.fillStyle = entry.color;
    context.fillRect(x - 5, y - 5, 10, 10);
  } else {
    context.fillStyle = entry.step === 'lost' || entry.step === 'failed' ? palette.lost
      : entry.step === 'late' ? palette.late : entry.step === 'sent' ? palette.sent : palette.received;
    context.beginPath();
    context.arc(x, y, 3, 0, 2 * Math.PI);
    context.fill();
  }
  if (width >= 520) {
    context.fillStyle = palette.soft;
    const label = Math.min(230, width * 0.32);
    context.save();
    context.beginPath();
    context.rect(width - label, y - rowHeight / 2, label, rowHeight);
    context.clip();
    context.fillText(describe(entry), width - label + 4, y + 4);
    context.restore();
  }
}

// --- Panels: how all stands at the cursor

const time = seconds => {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString().slice(11, 23);
};

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

function drawDetails(entry) {
  const hidden = new Set(['state', 'vector', 'sync', 'color', 'number']);
  find('entry').replaceChildren(...(entry ? Object.entries(entry) : []).filter(([name]) => !hidden.has(name))
    .flatMap(([name, value]) => [text('dt', name), text('dd', name === 'at' ? time(value) : String(value))]));
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
const titleOf = ({ entry }) => entry.feature && features.size > 1 ? `${entry.peer}, ${entry.feature}` : entry.peer;

function tableOf(head, lines) {
  const table = document.createElement('table');
  const row = document.createElement('tr');
  row.append(...head.map(name => text('th', name)));
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
      if (typeof sync === 'string') views.push(`${titleOf(state)}: ${sync}`);
    }
    for (const observer of lanes) {
      const reachable = reachability.known.get(JSON.stringify([observer, name]));
      if (reachable) views.push(`${reachable} from ${observer}`);
    }
    return [name, text('td', views.join(' · ') || '–', 'text')];
  });
  find('peers').replaceChildren(lines.length ? tableOf(['peer', ''], lines) : nothing());
}

function drawOrder(standing) {
  const sources = [...new Set(standing.flatMap(({ entry }) => Object.keys(entry.vector ?? {})))].slice(0, 64);
  const value = (entry, source) => Object.hasOwn(entry.vector ?? {}, source) ? entry.vector[source] : 0;
  const cells = (name, values) => {
    const isApart = new Set(values).size > 1;
    return [name, ...values.map(value => text('td', value.toLocaleString('en'), isApart ? 'apart' : ''))];
  };
  const lines = [
    cells('confirmed', standing.map(({ entry }) => entry.confirmed ?? 0)),
    ['cut', ...standing.map(({ entry }) => text('td', entry.cut ? time(entry.cut / 1000) : '–'))],
    ...sources.map(source => cells(source, standing.map(({ entry }) => value(entry, source)))),
  ];
  find('order').replaceChildren(standing.length ? tableOf(['held of', ...standing.map(titleOf)], lines) : nothing());
}

function drawState(standing) {
  const whose = find('whose'), chosen = whose.value, keys = standing.map(state => state.key);
  if (JSON.stringify([...whose.options].map(option => option.value)) !== JSON.stringify(keys)) {
    whose.replaceChildren(...standing.map(state => {
      const option = text('option', titleOf(state));
      option.value = state.key;
      return option;
    }));
    if (keys.includes(chosen)) whose.value = chosen;
  }
  const state = standing.find(state => state.key === whose.value);
  if (!state) return find('state').replaceChildren(nothing());
  const budget = { nodes: treeNodesMax };
  const list = document.createElement('ul');
  list.append(branch('state', parsed(state.entry.state), state.earlier ? parsed(state.earlier.state) : undefined, budget,
    !state.earlier));
  if (budget.nodes <= 0) list.append(text('li', `Only the first ${treeNodesMax} values are shown.`, 'none'));
  find('state').replaceChildren(list);
}

function parsed(state) {
  try { return JSON.parse(state); } catch { return String(state ?? ''); }
}

const isBranch = value => value !== null && typeof value === 'object';

function branch(name, value, earlier, budget, isQuiet) {
  const item = document.createElement('li');
  if (budget.nodes <= 0) return item;
  budget.nodes -= 1;
  const isChanged = !isQuiet && JSON.stringify(value) !== JSON.stringify(earlier);
  if (!isBranch(value)) {
    const leaf = text(isChanged ? 'mark' : 'span', JSON.stringify(value) ?? '');
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
    [total.feature, total.codec, total.count.toLocaleString('en'), total.bytes.toLocaleString('en'),
      Math.round(total.bytes / total.count).toLocaleString('en')]);
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
    select.value = chosen;
  }
}

function goTo(row) {
  if (!rows.length) return;
  setPaused(true);
  cursor = rows[Math.min(Math.max(0, row), rows.length - 1)];
  changed(true);
}
const step = by => goTo((rowOf.get(cursor) ?? 0) + by);

function setPaused(paused) {
  isPaused = paused;
  find('pause').textContent = paused ? 'Follow' : 'Pause';
  find('pause').setAttribute('aria-pressed', paused);
}
function togglePause() {
  setPaused(!isPaused);
  if (!isPaused && rows.length) cursor = rows[rows.length - 1];
  changed(true);
}

find('first').addEventListener('click', () => goTo(0));
find('back').addEventListener('click', () => step(-1));
find('forward').addEventListener('click', () => step(1));
find('pause').addEventListener('click', togglePause);
find('travel').addEventListener('input', event => goTo(Number(event.target.value)));
find('feature').addEventListener('change', filter);
find('peer').addEventListener('change', filter);
find('whose').addEventListener('change', () => changed(false));
find('scroll').addEventListener('scroll', () => changed(false), { passive: true });
find('canvas').addEventListener('click', event => {
  goTo(Math.floor((find('scroll').scrollTop + event.offsetY) / rowHeight));
  find('scroll').focus();
});
addEventListener('resize', () => changed(false));
addEventListener('keydown', event => {
  const isField = ['SELECT', 'INPUT', 'TEXTAREA'].includes(event.target.tagName);
  if (event.metaKey || event.ctrlKey || event.altKey || (isField && event.target.id !== 'travel')) return;
  const isButton = ['BUTTON', 'SUMMARY', 'A'].includes(event.target.tagName);
  const actions = {
    ArrowLeft: () => step(-1), ArrowUp: () => step(-1), ArrowRight: () => step(1), ArrowDown: () => step(1),
    PageUp: () => step(-20), PageDown: () => step(20), Home: () => goTo(0), End: () => goTo(rows.length - 1),
  };
  if (event.key === ' ' && !isButton) togglePause();
  else if (Object.hasOwn(actions, event.key)) actions[event.key]();
  else return;
  event.preventDefault();
});
find('open').addEventListener('change', async event => {
  const file = event.target.files[0];
  if (!file) return;
  isLive = false;
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
  while (isLive) {
    try {
      const answer = await fetch(`entries?after=${lastNumber}`, { cache: 'no-store' });
      if (!answer.ok) throw new Error(String(answer.status));
      const lines = linesOf(await answer.text());
      if (!isLive) return;
      if (lines.length) lastNumber = lines[lines.length - 1].number;
      add(lines);
      patience = 250;
    } catch {
      find('standing').textContent = 'What is inspected has gone; its last entries stay here.';
      await new Promise(done => setTimeout(done, patience));
      patience = Math.min(5000, patience * 2);
    }
  }
}

readPalette();
setPaused(false);
changed(false);
follow();
