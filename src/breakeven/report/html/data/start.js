// What is in the data block comes to life; a page without one stays as it is.
const data = JSON.parse(document.getElementById("data").textContent);
if (data) {
  startSizes(data);
  startTimelines(data);
}
document.documentElement.dataset.ready = "";
