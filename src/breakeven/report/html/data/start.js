// What is in the data block comes to life; a page without one stays as it is.
const data = JSON.parse(document.getElementById("data").textContent);
if (data) {
  if (data.panels) startSizes(data);
  if (data.steps) startTimelines(data);
  if (data.race) startRace(data);
}
document.documentElement.dataset.ready = "";
