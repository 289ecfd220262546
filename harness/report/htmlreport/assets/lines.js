// The lines of a chart as points, and what they are at a place.

// pointsOf returns the points of a line as the file has them: at equal steps, or each at its own place.
function pointsOf(line) {
  return line.y.map((y, i) => {
    let x = line.step ? (line.from || 0) + i * line.step : line.x[i];
    if (line.last && i === line.y.length - 1) x = line.last;
    return { x, y, note: line.notes && line.notes[i] };
  });
}

// nearest returns the point of a line that is nearest to a place, or null if the line ends well before it.
function nearest(points, x) {
  let low = 0;
  let high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle].x < x) low = middle;
    else high = middle;
  }
  const best = x - points[low].x <= points[high].x - x ? points[low] : points[high];
  const step = points.length > 1 ? (points[points.length - 1].x - points[0].x) / (points.length - 1) : Infinity;
  return Math.abs(best.x - x) <= Math.max(step, 1e-9) || points.length === 1 ? best : null;
}

// placesOf returns the places of all points of all lines, sorted, each once.
function placesOf(lines) {
  const places = new Set();
  for (const line of lines) for (const point of line.points) places.add(point.x);
  return [...places].sort((a, b) => a - b);
}

// thinned returns at most so many points: of each equal part of the places the one with the largest value.
function thinned(points, most) {
  if (points.length <= most) return points;
  const per = points.length / most;
  const kept = [];
  for (let i = 0; i < most; i++) {
    const part = points.slice(Math.floor(i * per), Math.floor((i + 1) * per));
    kept.push(part.reduce((a, b) => (b.y > a.y ? b : a)));
  }
  return kept;
}
