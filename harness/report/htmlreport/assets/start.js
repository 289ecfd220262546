onShow.push(makeSortable, makeCharts, makeFlames);
startScheme();
startPages();
