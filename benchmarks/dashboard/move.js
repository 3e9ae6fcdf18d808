// Pans there and back and zooms in and out, one wheel event in each frame. Returns the milliseconds between frames.
async seconds => {
    const over = document.querySelector("article .u-over");
    const box = over.getBoundingClientRect();
    const turn = (deltaX, deltaY, ctrlKey) => over.dispatchEvent(new WheelEvent("wheel", {
        deltaX, deltaY, ctrlKey, bubbles: true, cancelable: true, clientX: box.left + 50, clientY: box.top + 20,
    }));
    const frame = () => new Promise(requestAnimationFrame);
    for (let index = 0; index < 40; index++) { turn(0, -20, true); await frame(); }
    const frames = [];
    const began = performance.now();
    let before = began;
    for (let index = 0; before - began < seconds * 1000; index++) {
        if (index % 240 < 180) turn(index % 120 < 60 ? 12 : -12, 0, false);
        else turn(0, index % 60 < 30 ? 8 : -8, true);
        const now = await frame();
        frames.push(now - before);
        before = now;
    }
    return frames.slice(1);
};
