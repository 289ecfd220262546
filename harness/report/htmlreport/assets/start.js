onShow.push(makeSortable, makeCharts);
startScheme();
startPages();
